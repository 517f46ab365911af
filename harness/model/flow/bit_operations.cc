// Logic, shifts and bytes of 32-bit words.
#include <algorithm>
#include <array>
#include <bit>

#include "harness/model/flow/operation.h"

namespace sparkbench {
namespace {

using Operands = OperationOperands;

/// LOP3 on three words or truths, bit by bit: bit 4a + 2b + c of the table.
template <class Word>
Word looked_up(std::uint32_t table, Word a, Word b, Word c) {
  Word result = 0;
  for (int entry = 0; entry < 8; ++entry) {
    if ((table >> entry & 1u) == 0) continue;
    result |= (entry & 4 ? a : ~a) & (entry & 2 ? b : ~b) & (entry & 1 ? c : ~c);
  }
  return result;
}

/// Whether the table's result depends on the input that `bit` of an entry stands for.
bool depends_on(std::uint32_t table, int bit) {
  for (int entry = 0; entry < 8; ++entry) {
    if ((table >> entry & 1u) != (table >> (entry ^ bit) & 1u)) return true;
  }
  return false;
}

void run_lop3(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneWords, 3> scratch;
  const std::uint32_t table = operands.sources[3].value;
  const LaneWords& a = state.read(operands.sources[0], scratch[0]);
  const LaneWords& b = state.read(operands.sources[1], scratch[1]);
  const LaneWords& c = state.read(operands.sources[2], scratch[2]);
  LaneWords result;
  for (int i = 0; i < kLanes; ++i) {
    result.value[i] = looked_up(table, a.value[i], b.value[i], c.value[i]);
  }
  result.known = kAllLanes;
  if (depends_on(table, 4)) result.known &= a.known;
  if (depends_on(table, 2)) result.known &= b.known;
  if (depends_on(table, 1)) result.known &= c.known;
  state.write(operands.destination.first, result, lanes);
  if (operands.truths[0] == kPredicateTrue) return;
  LaneTruth is_set{0, result.known};
  for (int i = 0; i < kLanes; ++i) is_set.value |= LaneMask{result.value[i] != 0} << i;
  const LaneTruth other = state.read_truth(operands.conditions[0]);
  state.write(operands.truths[0], operands.has(Modifier::kPand) ? is_set & other : is_set | other,
              lanes);
}

/// A table of eight truths, known as soon as what is known decides.
LaneTruth looked_up(std::uint32_t table, const std::array<LaneTruth, 3>& inputs) {
  LaneTruth result = LaneTruth::all(false);
  for (int entry = 0; entry < 8; ++entry) {
    if ((table >> entry & 1u) == 0) continue;
    LaneTruth matches = LaneTruth::all(true);
    for (int i = 0; i < 3; ++i) {
      matches = matches & (entry >> (2 - i) & 1 ? inputs[i] : !inputs[i]);
    }
    result = result | matches;
  }
  return result;
}

void run_plop3(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneTruth, 3> inputs;
  for (int i = 0; i < 3; ++i) inputs[i] = state.read_truth(operands.conditions[i]);
  for (int i = 0; i < 2; ++i) {
    state.write(operands.truths[i], looked_up(operands.sources[i].value, inputs), lanes);
  }
}

/// What is left of a pair of words after a shift by 0 to 64 bits.
std::uint64_t shifted_pair(const Operands& operands, std::uint64_t pair, std::uint32_t bits) {
  const bool is_signed = !operands.has(Modifier::kU32) && !operands.has(Modifier::kU64);
  if (!operands.has(Modifier::kR)) return bits < 64 ? pair << bits : 0;
  if (!is_signed) return bits < 64 ? pair >> bits : 0;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(pair) >> std::min(bits, 63u));
}

/// The lower word of the shifted pair {c, a}; the upper one with .HI.
std::uint32_t funnel(const Operands& operands, std::uint32_t a, std::uint32_t shift,
                     std::uint32_t c) {
  const bool is_64 = operands.has(Modifier::kU64) || operands.has(Modifier::kS64);
  const std::uint32_t most = is_64 ? 64 : 32;
  const std::uint32_t bits =
      operands.has(Modifier::kW) ? shift & (most - 1) : std::min(shift, most);
  const std::uint64_t shifted = shifted_pair(operands, std::uint64_t{c} << 32 | a, bits);
  return static_cast<std::uint32_t>(operands.has(Modifier::kHi) ? shifted >> 32 : shifted);
}

void run_shf(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneWords, 3> scratch;
  const LaneWords& a = state.read(operands.sources[0], scratch[0]);
  const LaneWords& shift = state.read(operands.sources[1], scratch[1]);
  const LaneWords& c = state.read(operands.sources[2], scratch[2]);
  const auto shifted = [&](std::uint32_t low, std::uint32_t bits, std::uint32_t high) {
    return funnel(operands, low, bits, high);
  };
  state.write(operands.destination.first, map_words(a, shift, c, shifted), lanes);
}

/// Four bytes of {c, a}, chosen by four digits; a digit of 8 or more repeats the byte's sign.
std::uint32_t permuted(std::uint32_t a, std::uint32_t selector, std::uint32_t c) {
  const std::uint64_t pair = std::uint64_t{c} << 32 | a;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t digit = selector >> (4 * i) & 15u;
    std::uint32_t byte = static_cast<std::uint32_t>(pair >> (8 * (digit & 7u))) & 0xffu;
    if (digit >= 8) byte = byte >> 7 != 0 ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

void run_prmt(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneWords, 3> scratch;
  const LaneWords& a = state.read(operands.sources[0], scratch[0]);
  const LaneWords& selector = state.read(operands.sources[1], scratch[1]);
  const LaneWords& c = state.read(operands.sources[2], scratch[2]);
  LaneWords result = map_words(a, selector, c, permuted);
  if (operands.has(Modifier::kOther)) result.known = 0;  // the modes .F4E, .RC8, ...
  state.write(operands.destination.first, result, lanes);
}

/// Writes function(a, b) of two operands.
template <class Function>
void write_of_two(WarpValues& state, const Operands& operands, const ActiveLanes& lanes,
                  Function function) {
  LaneWords a_scratch, b_scratch;
  const LaneWords& a = state.read(operands.sources[0], a_scratch);
  const LaneWords& b = operands.source_count > 1 ? state.read(operands.sources[1], b_scratch) : a;
  const auto of_two = [&](std::uint32_t x, std::uint32_t y, std::uint32_t) {
    return function(x, y);
  };
  state.write(operands.destination.first, map_words(a, b, a, of_two), lanes);
}

std::uint32_t low_bits(std::uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1u; }

/// `b` bits from bit `a` on.
void run_bmsk(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const std::uint32_t wrap = operands.has(Modifier::kW) ? 31u : ~0u;
  write_of_two(state, operands, lanes, [wrap](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = a & wrap;
    return first >= 32 ? 0u : low_bits(b & wrap) << first;
  });
}

/// The low `b` bits of a, and copies of the last of them, or zeros, above.
void run_sgxt(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const std::uint32_t wrap = operands.has(Modifier::kW) ? 31u : ~0u;
  const bool is_signed = !operands.has(Modifier::kU32);
  write_of_two(state, operands, lanes, [=](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t bits = std::min(b & wrap, 32u), mask = low_bits(bits);
    const bool is_negative = is_signed && bits > 0 && (a >> (bits - 1) & 1u) != 0;
    return is_negative ? a | ~mask : a & mask;
  });
}

void run_popc(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  write_of_two(state, operands, lanes, [](std::uint32_t a, std::uint32_t) {
    return static_cast<std::uint32_t>(std::popcount(a));
  });
}

/// The place of the highest bit that is no sign, or with .SH how far it is from the top; all ones
/// where there is none.
void run_flo(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const bool is_signed = !operands.has(Modifier::kU32), is_shift = operands.has(Modifier::kSh);
  write_of_two(state, operands, lanes, [=](std::uint32_t a, std::uint32_t) {
    const std::uint32_t bits = is_signed && a >> 31 != 0 ? ~a : a;
    if (bits == 0) return ~0u;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return is_shift ? zeros : 31u - zeros;
  });
}

void run_brev(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  write_of_two(state, operands, lanes, [](std::uint32_t a, std::uint32_t) {
    std::uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1u) << (31 - i);
    return reversed;
  });
}

constexpr Operation kBits[] = {
    {"LOP3", run_lop3, true, 1},
    {"PLOP3", run_plop3, false, 2},
    {"SHF", run_shf},
    {"PRMT", run_prmt},
    {"BMSK", run_bmsk},
    {"SGXT", run_sgxt},
    {"POPC", run_popc},
    {"FLO", run_flo},
    {"BREV", run_brev},
};

}  // namespace

std::span<const Operation> bit_operations() { return kBits; }

}  // namespace sparkbench
