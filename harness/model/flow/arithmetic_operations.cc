// Sums and products of integers, with carries.
#include <array>

#include "harness/model/flow/operation.h"

namespace sparkbench {
namespace {

using Operands = OperationOperands;

/// Bit i of a carry, as a number.
std::uint64_t bit_of(const LaneTruth& truth, int lane) { return truth.value >> lane & 1u; }

/// What .X adds: the carries of lower words.
struct CarriesIn {
  CarriesIn(const WarpValues& state, const Operands& operands) : known(kAllLanes) {
    if (!operands.has(Modifier::kX)) return;
    for (int i = 0; i < operands.condition_count && i < 2; ++i) {
      truths[i] = state.read_truth(operands.conditions[i]);
      known &= truths[i].known;
    }
  }

  std::uint64_t at(int lane) const { return bit_of(truths[0], lane) + bit_of(truths[1], lane); }

  std::array<LaneTruth, 2> truths = {LaneTruth::all(false), LaneTruth::all(false)};
  LaneMask known;
};

/// A sum with what it carries: the first predicate tells one carry, the second a second one.
struct Sum {
  void set(int lane, std::uint64_t sum) {
    words.value[lane] = static_cast<std::uint32_t>(sum);
    const std::uint64_t carry = sum >> 32;
    carries[0].value |= LaneMask{carry >= 1} << lane;
    carries[1].value |= LaneMask{carry >= 2} << lane;
  }

  void write(WarpValues& state, const Operands& operands, LaneMask known,
             const ActiveLanes& lanes) {
    words.known = known;
    state.write(operands.destination.first, words, lanes);
    for (int i = 0; i < 2; ++i) {
      carries[i].known = known;
      state.write(operands.truths[i], carries[i], lanes);
    }
  }

  LaneWords words;
  std::array<LaneTruth, 2> carries;
};

/// The register itself for a negated one: -x is ~x + 1, so that x - 0 carries as hardware does.
SassOperand without_sign(SassOperand operand) {
  operand.is_negated = false;
  return operand;
}

void run_iadd3(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneWords, 3> scratch;
  const CarriesIn carries(state, operands);
  LaneMask known = carries.known;
  std::array<std::uint64_t, kLanes> sums;
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = carries.at(lane);
  for (int i = 0; i < 3; ++i) {
    const SassOperand& operand = operands.sources[i];
    const LaneWords& words = state.read(without_sign(operand), scratch[i]);
    known &= words.known;
    const std::uint32_t flip = operand.is_negated ? ~0u : 0u;
    const std::uint64_t more = operand.is_negated ? 1 : 0;
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += (words.value[lane] ^ flip) + more;
  }
  Sum sum;
  for (int lane = 0; lane < kLanes; ++lane) sum.set(lane, sums[lane]);
  sum.write(state, operands, known, lanes);
}

/// All 64 bits of a product.
std::uint64_t product_of(std::uint32_t a, std::uint32_t b, bool is_signed) {
  if (!is_signed) return std::uint64_t{a} * b;
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                    std::int64_t{static_cast<std::int32_t>(b)});
}

struct Factors {
  Factors(const WarpValues& state, const Operands& operands)
      : a(state.read(operands.sources[0], scratch[0])),
        b(state.read(operands.sources[1], scratch[1])),
        c(state.read(operands.sources[2], scratch[2])),
        known(a.known & b.known & c.known) {}

  std::array<LaneWords, 3> scratch;
  const LaneWords &a, &b, &c;
  LaneMask known;
};

void run_imad_low(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const Factors of(state, operands);
  const CarriesIn carries(state, operands);
  LaneWords result;
  for (int i = 0; i < kLanes; ++i) {
    result.value[i] =
        of.a.value[i] * of.b.value[i] + of.c.value[i] + static_cast<std::uint32_t>(carries.at(i));
  }
  result.known = of.known & carries.known;
  state.write(operands.destination.first, result, lanes);
}

/// a * b + c, where c is a pair of registers: both words of the sum, or with .HI the upper one.
void run_imad_wide(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const Factors of(state, operands);
  const CarriesIn carries(state, operands);
  LaneWords scratch, low, high;
  LaneTruth carry;
  const LaneWords& c_high = state.read_high(operands.sources[2], scratch);
  const bool is_signed = !operands.has(Modifier::kU32);
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t product = product_of(of.a.value[i], of.b.value[i], is_signed);
    const std::uint64_t addend = std::uint64_t{c_high.value[i]} << 32 | of.c.value[i];
    const std::uint64_t sum = product + addend + carries.at(i);
    low.value[i] = static_cast<std::uint32_t>(sum);
    high.value[i] = static_cast<std::uint32_t>(sum >> 32);
    carry.value |= LaneMask{sum < product} << i;
  }
  low.known = high.known = carry.known = of.known & c_high.known & carries.known;
  const std::uint8_t first = operands.destination.first;
  if (operands.has(Modifier::kHi)) {
    state.write(first, high, lanes);
  } else if (first != kRegisterZero) {
    state.write(first, low, lanes);
    state.write(static_cast<std::uint8_t>(first + 1), high, lanes);
  }
  state.write(operands.truths[0], carry, lanes);
}

/// IMAD.MOV, .SHL and .IADD are this too: a product with 0, a power of two or 1.
void run_imad(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const bool is_wide = operands.has(Modifier::kWide) || operands.has(Modifier::kHi);
  (is_wide ? run_imad_wide : run_imad_low)(state, operands, lanes);
}

/// What LEA adds its second operand to: a shifted, or with .HI the upper word of a pair shifted.
LaneWords shifted_address(const WarpValues& state, const Operands& operands) {
  std::array<LaneWords, 3> scratch;
  const bool is_high = operands.has(Modifier::kHi), extends = operands.has(Modifier::kSx32);
  const LaneWords& a = state.read(operands.sources[0], scratch[0]);
  const bool has_pair = is_high && !extends;
  const SassOperand& upper = operands.sources[has_pair ? 2 : 0];
  const LaneWords& c = state.read(upper, scratch[1]);
  const LaneWords& shift = state.read(operands.sources[has_pair ? 3 : 2], scratch[2]);
  LaneWords result;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint32_t bits = shift.value[i] & 31u;
    const std::uint32_t sign =
        static_cast<std::uint32_t>(static_cast<std::int32_t>(a.value[i]) >> 31);
    const std::uint64_t pair = std::uint64_t{extends ? sign : c.value[i]} << 32 | a.value[i];
    result.value[i] = is_high ? static_cast<std::uint32_t>(pair << bits >> 32) : a.value[i] << bits;
  }
  result.known = a.known & c.known & shift.known;
  return result;
}

void run_lea(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords scratch;
  const LaneWords shifted = shifted_address(state, operands);
  const SassOperand& added = operands.sources[1];
  const LaneWords& b = state.read(without_sign(added), scratch);
  const CarriesIn carries(state, operands);
  const std::uint32_t flip = added.is_negated ? ~0u : 0u;
  Sum sum;
  for (int i = 0; i < kLanes; ++i) {
    sum.set(i, std::uint64_t{shifted.value[i]} + (b.value[i] ^ flip) + (added.is_negated ? 1 : 0) +
                   carries.at(i));
  }
  sum.write(state, operands, shifted.known & b.known & carries.known, lanes);
}

void run_iabs(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords scratch;
  LaneWords words = state.read(operands.sources[0], scratch);
  for (std::uint32_t& word : words.value) word = word >> 31 != 0 ? 0u - word : word;
  state.write(operands.destination.first, words, lanes);
}

/// The lesser where the predicate is true, the greater where it is false.
void run_imnmx(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords a_scratch, b_scratch, result;
  const LaneWords& a = state.read(operands.sources[0], a_scratch);
  const LaneWords& b = state.read(operands.sources[1], b_scratch);
  const LaneTruth is_least = state.read_truth(operands.conditions[0]);
  // A signed order is the unsigned one of numbers moved by half of their range.
  const std::uint32_t offset = operands.has(Modifier::kU32) ? 0u : 0x80000000u;
  for (int i = 0; i < kLanes; ++i) {
    const bool is_a_less = (a.value[i] ^ offset) < (b.value[i] ^ offset);
    result.value[i] = is_a_less == has_lane(is_least.value, i) ? a.value[i] : b.value[i];
  }
  result.known = a.known & b.known & is_least.known;
  state.write(operands.destination.first, result, lanes);
}

constexpr Operation kArithmetic[] = {
    {"IADD3", run_iadd3, true, 2}, {"IMAD", run_imad, true, 1},
    {"LEA", run_lea, true, 1},     {"IABS", run_iabs},
    {"IMNMX", run_imnmx},
};

}  // namespace

std::span<const Operation> arithmetic_operations() { return kArithmetic; }

}  // namespace sparkbench
