#include "harness/model/flow/warp_values.h"

namespace sparkbench {
namespace {

using Kind = SassOperand::Kind;

std::uint32_t with_sign(std::uint32_t word, const SassOperand& operand) {
  if (operand.is_absolute && (word >> 31) != 0) word = 0u - word;
  if (operand.is_inverted) return ~word;
  return operand.is_negated ? 0u - word : word;
}

LaneMask lanes_of_warp(int threads, int first_thread) {
  const int count = threads - first_thread;
  return count >= kLanes ? kAllLanes : count <= 0 ? 0u : (1u << count) - 1u;
}

}  // namespace

WarpValues::WarpValues(const KernelLaunch& launch, const Extents& block, int warp,
                       SharedWords& shared)
    : launch_(launch),
      block_(block),
      first_thread_(warp * kLanes),
      lanes_(lanes_of_warp(launch.threads(), first_thread_)),
      shared_memory_(shared) {
  registers_.fill(LaneWords::all(0));
  predicates_.fill(LaneTruth::all(false));
  predicates_[kPredicateTrue] = LaneTruth::all(true);
}

const LaneWords& WarpValues::read(const SassOperand& operand, LaneWords& scratch) const {
  const bool has_sign = operand.is_negated || operand.is_inverted || operand.is_absolute;
  if (operand.is(Kind::kRegister)) {
    const LaneWords& words = registers_[operand.index];
    if (!has_sign) return words;
    scratch.known = words.known;
    for (int i = 0; i < kLanes; ++i) scratch.value[i] = with_sign(words.value[i], operand);
  } else if (operand.is(Kind::kValue)) {
    scratch = LaneWords::all(has_sign ? with_sign(operand.value, operand) : operand.value);
  } else if (operand.is(Kind::kSpecial)) {
    scratch = special(operand.special());
  } else {
    scratch.known = 0;
  }
  return scratch;
}

const LaneWords& WarpValues::read_high(const SassOperand& operand, LaneWords& scratch) const {
  if (operand.is(Kind::kRegister)) {
    const bool is_zero = operand.index == kRegisterZero;
    return registers_[is_zero ? kRegisterZero : operand.index + 1];
  }
  scratch = LaneWords::all(operand.high);
  if (!operand.is(Kind::kValue) || !operand.is_high_known) scratch.known = 0;
  return scratch;
}

LaneTruth WarpValues::read_truth(const SassOperand& operand) const {
  const LaneTruth& truth = predicates_[operand.index];
  return operand.is_inverted ? !truth : truth;
}

LaneWords WarpValues::address(const SassOperand& operand) const {
  LaneWords address = registers_[operand.index];
  for (std::uint32_t& word : address.value) word = word * operand.scale + operand.value;
  return address;
}

LaneWords WarpValues::load_global(const SassOperand& operand, int words) const {
  LaneWords loaded;
  if (operand.index == kRegisterZero || operand.scale != 1) return loaded;
  const LaneWords& low = registers_[operand.index];
  const LaneWords& high = registers_[operand.index + 1];
  const auto offset = static_cast<std::int32_t>(operand.value);  // with its sign
  for (int i = 0; i < kLanes; ++i) {
    if (!has_lane(low.known & high.known, i)) continue;
    const std::uint64_t base = std::uint64_t{high.value[i]} << 32 | low.value[i];
    const auto word =
        launch_.memory.load(base + static_cast<std::uint64_t>(std::int64_t{offset} + 4 * words));
    loaded.value[i] = word.value_or(0);
    loaded.known |= LaneMask{word.has_value()} << i;
  }
  return loaded;
}

LaneWords WarpValues::thread_extent(int axis) const {
  LaneWords words = LaneWords::all(0);
  const Extents& of = launch_.block;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int thread = first_thread_ + lane;
    const Extents place = {thread % of[0], thread / of[0] % of[1], thread / of[0] / of[1]};
    words.value[lane] = static_cast<std::uint32_t>(place[axis]);
  }
  return words;
}

LaneWords WarpValues::special(SpecialRegister which) const {
  const auto number = static_cast<int>(which);
  if (which == SpecialRegister::kZero) return LaneWords::all(0);
  if (which == SpecialRegister::kLane) {
    LaneWords words = LaneWords::all(0);
    for (int lane = 0; lane < kLanes; ++lane) words.value[lane] = static_cast<std::uint32_t>(lane);
    return words;
  }
  if (which >= SpecialRegister::kThreadX && which <= SpecialRegister::kThreadZ) {
    return thread_extent(number - static_cast<int>(SpecialRegister::kThreadX));
  }
  if (which >= SpecialRegister::kBlockX && which <= SpecialRegister::kBlockZ) {
    const int axis = number - static_cast<int>(SpecialRegister::kBlockX);
    return LaneWords::all(static_cast<std::uint32_t>(block_[axis]));
  }
  return {};
}

}  // namespace sparkbench
