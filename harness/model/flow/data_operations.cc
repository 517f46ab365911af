// Words from one place to another: constants, special registers, other lanes, spilled registers,
// convergence barriers.
#include <array>
#include <optional>

#include "harness/model/flow/operation.h"

namespace sparkbench {
namespace {

using Operands = OperationOperands;
using Kind = SassOperand::Kind;

void run_mov(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  LaneWords scratch;
  const LaneWords words = state.read(operands.sources[0], scratch);
  state.write(operands.destination.first, words, lanes);
}

/// A special register, or two of them: zeros, or what is not known.
void run_cs2r(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  run_mov(state, operands, lanes);
  if (operands.destination.count < 2) return;
  Operands upper = operands;
  ++upper.destination.first;
  run_mov(state, upper, lanes);
}

LaneWords loaded(const ConstantBank& constants, const LaneWords& offset, std::uint32_t more,
                 std::uint32_t bytes) {
  LaneWords words;
  for (int i = 0; i < kLanes; ++i) {
    if (!has_lane(offset.known, i)) continue;
    const std::optional<std::uint32_t> word = constants.load(offset.value[i] + more, bytes);
    words.value[i] = word.value_or(0);
    words.known |= LaneMask{word.has_value()} << i;
  }
  return words;
}

std::uint32_t constant_bytes(const Operands& operands) {
  if (operands.has(Modifier::kU8) || operands.has(Modifier::kS8)) return 1;
  return operands.has(Modifier::kU16) || operands.has(Modifier::kS16) ? 2 : 4;
}

/// Word `i` of what LDC loads, without its sign.
LaneWords constant_word(const WarpValues& state, const Operands& operands, int i) {
  const SassOperand& source = operands.sources[0];
  const std::uint32_t bytes = constant_bytes(operands);
  if (source.is(Kind::kIndexedConstant)) {
    return loaded(state.constants(), state.address(source), static_cast<std::uint32_t>(4 * i),
                  bytes);
  }
  LaneWords scratch;
  LaneWords words = i == 0 ? state.read(source, scratch) : state.read_high(source, scratch);
  for (std::uint32_t& word : words.value) word &= ~0u >> (32 - 8 * bytes);
  return words;
}

void run_ldc(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const bool is_signed = operands.has(Modifier::kS8) || operands.has(Modifier::kS16);
  const std::uint32_t sign = is_signed ? 1u << (8 * constant_bytes(operands) - 1) : 0u;
  const auto [first, count] = operands.destination;
  std::array<LaneWords, 2> words;  // the register that it loads may be its index
  for (int i = 0; i < count && i < 2; ++i) words[i] = constant_word(state, operands, i);
  for (int i = 0; i < count && i < 2 && first + i < kRegisterZero; ++i) {
    for (std::uint32_t& word : words[i].value) word = (word ^ sign) - sign;
    state.write(static_cast<std::uint8_t>(first + i), words[i], lanes);
  }
}

/// The lane from which a lane takes its word, and whether there is one.
struct ShuffleSource {
  int lane;
  bool is_inside;
};

ShuffleSource shuffle_source(const Operands& operands, int lane, std::uint32_t b, std::uint32_t c) {
  const int segment = static_cast<int>(c >> 8 & 31u), clamp = static_cast<int>(c & 31u);
  const int distance = static_cast<int>(b & 31u);
  const int first = lane & segment, last = first | (clamp & ~segment);
  if (operands.has(Modifier::kUp)) return {lane - distance, lane - distance >= last};
  int source = lane ^ distance;
  if (operands.has(Modifier::kDown)) source = lane + distance;
  if (operands.has(Modifier::kIdx)) source = first | (distance & ~segment);
  return {source, source <= last};
}

void run_shfl(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  std::array<LaneWords, 3> scratch;
  const LaneWords& a = state.read(operands.sources[0], scratch[0]);
  const LaneWords& b = state.read(operands.sources[1], scratch[1]);
  const LaneWords& c = state.read(operands.sources[2], scratch[2]);
  LaneWords result;
  LaneTruth is_inside{0, b.known & c.known};
  for (int i = 0; i < kLanes; ++i) {
    const ShuffleSource source = shuffle_source(operands, i, b.value[i], c.value[i]);
    const int lane = source.is_inside ? source.lane : i;
    result.value[i] = a.value[lane];
    const bool is_known = has_lane(a.known & lanes.certain, lane);
    result.known |= LaneMask{is_known} << i;
    is_inside.value |= LaneMask{source.is_inside} << i;
  }
  result.known &= is_inside.known;
  state.write(operands.destination.first, result, lanes);
  state.write(operands.truths[0], is_inside, lanes);
}

/// The one address of all lanes: a thread's own memory lies at the same place for each.
std::optional<std::uint32_t> common_address(const LaneWords& address, LaneMask lanes) {
  if (lanes == 0 || (lanes & ~address.known) != 0) return std::nullopt;
  std::optional<std::uint32_t> common;
  for (int i = 0; i < kLanes; ++i) {
    if (!has_lane(lanes, i)) continue;
    if (common && *common != address.value[i]) return std::nullopt;
    common = address.value[i];
  }
  return common;
}

int access_words(const Operands& operands) {
  if (operands.has(Modifier::k128)) return 4;
  return operands.has(Modifier::k64) ? 2 : 1;
}

bool is_narrow(const Operands& operands) { return constant_bytes(operands) < 4; }

/// Registers that are spilled come back as they were.
void run_stl(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const auto address = common_address(state.address(operands.sources[0]), lanes.any());
  if (!address || is_narrow(operands)) return state.local_memory().clear();
  LaneWords scratch;
  SassOperand source = operands.sources[1];
  for (int i = 0; i < access_words(operands); ++i) {
    const LaneWords& words = state.read(source, scratch);
    assign(state.local_memory()[*address + static_cast<std::uint32_t>(4 * i)], words, lanes);
    if (source.index != kRegisterZero) ++source.index;
  }
}

void run_ldl(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const auto address = common_address(state.address(operands.sources[0]), lanes.any());
  if (!address || is_narrow(operands)) return forget_results(state, operands, lanes);
  const std::uint8_t first = operands.destination.first;
  for (int i = 0; i < operands.destination.count && first + i < kRegisterZero; ++i) {
    const auto found = state.local_memory().find(*address + static_cast<std::uint32_t>(4 * i));
    state.write(static_cast<std::uint8_t>(first + i),
                found == state.local_memory().end() ? LaneWords{} : found->second, lanes);
  }
}

int shared_bytes(const Operands& operands) {
  return is_narrow(operands) ? static_cast<int>(constant_bytes(operands))
                             : 4 * access_words(operands);
}

LaneWords behind(LaneWords address, int words) {
  for (std::uint32_t& place : address.value) place += static_cast<std::uint32_t>(4 * words);
  return address;
}

void run_lds(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const LaneWords address = state.address(operands.sources[0]);
  state.shared_accesses().add(address, lanes, shared_bytes(operands));
  const auto [first, count] = operands.destination;
  if (is_narrow(operands) || !state.shared_memory().may_know(address, count)) {
    return forget_results(state, operands, lanes);
  }
  for (int i = 0; i < count && first + i < kRegisterZero; ++i) {
    state.write(static_cast<std::uint8_t>(first + i),
                state.shared_memory().load(behind(address, i), lanes.certain), lanes);
  }
}

void run_sts(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const LaneWords address = state.address(operands.sources[0]);
  state.shared_accesses().add(address, lanes, shared_bytes(operands));
  LaneWords scratch;
  SassOperand source = operands.sources[1];
  for (int i = 0; i < access_words(operands); ++i) {
    const LaneWords& words = is_narrow(operands) ? scratch : state.read(source, scratch);
    state.shared_memory().store(behind(address, i), words, lanes);
    if (source.index != kRegisterZero) ++source.index;
  }
}

/// From global memory, of which the launch knows some. Registers of the address may be among those
/// that are loaded.
void run_ldg(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  if (is_narrow(operands)) return forget_results(state, operands, lanes);
  const auto [first, count] = operands.destination;
  std::array<LaneWords, 4> words;
  for (int i = 0; i < count && i < 4; ++i) words[i] = state.load_global(operands.sources[0], i);
  for (int i = 0; i < count && i < 4 && first + i < kRegisterZero; ++i) {
    state.write(static_cast<std::uint8_t>(first + i), words[i], lanes);
  }
}

/// An atomic operation leaves what nobody knows.
void run_atoms(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const LaneWords address = state.address(operands.sources[0]);
  for (int i = 0; i < access_words(operands); ++i) {
    state.shared_memory().store(behind(address, i), LaneWords{}, lanes);
  }
  forget_results(state, operands, lanes);
}

/// BMOV R, B or BMOV B, R: whom a lane meets at a convergence barrier, kept for later.
void run_bmov(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  const SassOperand& source = operands.sources[0];
  if (!source.is(Kind::kBarrier)) return forget_results(state, operands, lanes);
  if (operands.source_count > 1) {
    LaneWords scratch;
    assign(state.convergence(source.index), state.read(operands.sources[1], scratch), lanes);
  } else {
    state.write(operands.destination.first, state.convergence(source.index), lanes);
  }
}

/// The lanes that are here now are those that meet at BSYNC.
void run_bssy(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  assign(state.convergence(operands.sources[0].index), LaneWords::all(lanes.certain), lanes);
}

constexpr Operation kData[] = {
    {"MOV", run_mov},
    {"S2R", run_mov},
    {"CS2R", run_cs2r},
    {"LDC", run_ldc},
    {"SHFL", run_shfl, true, 1},
    {"LDL", run_ldl},
    {"STL", run_stl, false},
    {"LDS", run_lds},
    {"LDG", run_ldg},
    {"STS", run_sts, false},
    {"BMOV", run_bmov},
    {"ATOMS", run_atoms},
    {"BSSY", run_bssy, false},
};

}  // namespace

std::span<const Operation> data_operations() { return kData; }

}  // namespace sparkbench
