// A problem's additional data for a backward pass: dO, the forward pass that it starts from, and
// the exact gradients. Shared by every kernel that runs on the problem, like ProblemData.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/problem_data.h"
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

  /// Each of these is computed on first use.
  ///
  /// q, k, v, dO, and the exact O and LSE of the plan's heads, rounded to fp16 and fp32 as in a
  /// kernel. An emulated backward pass by itself starts from these; on a GPU it starts from its own
  /// forward pass.
  BackwardInputs inputs();
  /// The same with the results of a forward pass, `forward`, which must outlive the result.
  BackwardInputs inputs_after(const RoundedForward& forward) const;
  /// The exact O and LSE, with `rows` replaced by a pass's results.
  RoundedForward forward_with(std::span<const QueryRow> rows, const ForwardRows& computed);
  const ExactGradients& exact();
  /// Errors of the plan's rows against exact(), with the plan's weights.
  GradientErrors errors_of(const HalfGradients& got);
  /// The change of the exact gradients if each element of O is off by a unit in the last place of
  /// fp16, up or down at random: rmse and max_abs.
  const GradientErrors& errors_of_a_unit();
  /// `after` is the preceding pass: none, or its own forward pass.
  enum class After { kNothing, kOwnForward };
  const GradientErrors& unfused_errors(const TensorCores& tensor_cores, After after);

 private:
  CheckedRows dq_rows() const { return {plan_.rows.dq.size(), plan_.dq_weights}; }
  CheckedRows dkv_rows() const { return {plan_.rows.dkv.size(), plan_.dkv_weights}; }

  const ProblemData& data_;
  GradientPlan plan_;
  std::vector<Half> d_o_;
  std::optional<RoundedForward> forward_;
  std::optional<ExactGradients> exact_;
  std::optional<GradientErrors> errors_of_a_unit_;
  std::map<std::pair<UnfusedKey, After>, GradientErrors> unfused_errors_;
};

}  // namespace sparkbench
