// What a backward pass adds to a problem's data: dO, the forward pass that it starts from, and the
// gradients to check against. Shared by every kernel that runs on the problem, as ProblemData is.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/problems/check_plan.h"
#include "harness/problems/problem_data.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"

namespace sparkbench {

class GradientData {
 public:
  /// `data` must outlive it and hold the inputs of the plan's heads.
  GradientData(const ProblemData& data, const InputSpec& input, GradientPlan plan);

  const GradientPlan& plan() const { return plan_; }
  const std::vector<Half>& d_o() const { return d_o_; }

  /// Each of these is computed when it is first asked for.
  ///
  /// q, k, v, dO, and the exact O and LSE of the plan's heads, rounded to fp16 and fp32 as a kernel
  /// leaves them. Emulated kernels and the references start from these; a GPU from its own.
  BackwardInputs inputs();
  const ExactGradients& exact();
  const GradientErrors& unfused_errors(const ArithmeticProfile& profile, Accumulator accumulator);

 private:
  const ProblemData& data_;
  GradientPlan plan_;
  std::vector<Half> d_o_;
  std::optional<RoundedForward> forward_;
  std::optional<ExactGradients> exact_;
  std::map<std::pair<std::string_view, Accumulator>, GradientErrors> unfused_errors_;
};

}  // namespace sparkbench
