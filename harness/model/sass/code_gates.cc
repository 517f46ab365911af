#include "harness/model/sass/code_gates.h"

#include <array>

#include "harness/model/sass/kernel_inspection.h"

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, 8> kGateNames = {
    "stack_bytes", "local_accesses", "narrow_shared_accesses",
    "barriers",    "data_shuffles",  "issue_cap",
    "lsu_cap",     "masks"};

GateResult at_most(std::string_view name, double value, double limit) {
  return {name, value, limit, false};
}

GateResult at_least(std::string_view name, double value, double limit) {
  return {name, value, limit, true};
}

GateResult cannot_tell(std::string_view name, double limit, std::string reason) {
  return {name, std::nullopt, limit, false, std::move(reason)};
}

GateResult judge_barriers(const CodeLimits& limits, const LoopInspection& loop) {
  if (!loop.columns) {
    return cannot_tell("barriers", limits.barriers, "how this kernel is launched is not known");
  }
  const int barriers = loop.mix.count(InstructionClass::kBarrier);
  return at_most("barriers", barriers * limits.barrier_columns / *loop.columns, limits.barriers);
}

GateResult judge_shuffles(const CodeLimits& limits, const LoopInspection& loop) {
  if (!loop.scores) {
    return cannot_tell("data_shuffles", limits.data_shuffles,
                       "how many scores this kernel computes is not known");
  }
  const double scores_of_lane = *loop.scores / 32.0;
  return at_most("data_shuffles", 8.0 * loop.mix.data_shuffles / scores_of_lane,
                 limits.data_shuffles);
}

constexpr int kFragmentScores = 8;  // of a lane: the fewest that a mask is applied to

GateResult judge_masks(const KernelInspection& kernel, const LoopInspection& loop) {
  if (loop.masks == 0 && kernel.masks < kFragmentScores) {
    return cannot_tell("masks", 0.0, "no code of this kernel is recognized as a mask");
  }
  return at_most("masks", loop.masks, 0.0);
}

}  // namespace

std::optional<bool> GateResult::holds() const {
  if (!value) return std::nullopt;
  return is_minimum ? *value >= limit : *value <= limit;
}

std::span<const std::string_view> gate_names() { return kGateNames; }

std::vector<GateResult> judge(const KernelInspection& kernel) {
  const LoopInspection& loop = *kernel.main_loop();
  const CodeLimits limits = kernel.instance ? kernel.instance->limits : CodeLimits{};
  return {at_most("stack_bytes", kernel.resources.stack_bytes + kernel.resources.local_bytes, 0.0),
          at_most("local_accesses", kernel.local_accesses, 0.0),
          at_most("narrow_shared_accesses", loop.mix.narrow_shared_accesses, 0.0),
          judge_barriers(limits, loop),
          judge_shuffles(limits, loop),
          at_least("issue_cap", loop.caps.issue, limits.cap),
          at_least("lsu_cap", loop.caps.lsu, limits.cap),
          judge_masks(kernel, loop)};
}

}  // namespace sparkbench
