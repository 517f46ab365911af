// A problem with its inputs, what of it is checked, and the reference results to check against:
// made once and shared by every kernel that runs on the problem.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/own_tensors.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/tensor_layout.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The distribution of the inputs, or the user's own.
struct InputSpec {
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 0;
  float scale = 1.0f;  // of q, k and v
  ElementType element = ElementType::kFp16;
  TensorLayout layout = TensorLayout::kBshd;
  std::shared_ptr<const OwnTensors> own = nullptr;  // with the problem's extents
};

/// Identifies an unfused computation: profile, accumulator, draw of rounding errors, element type.
using UnfusedKey = std::tuple<std::string_view, Accumulator, unsigned, ElementType>;
inline UnfusedKey key_of(const TensorCores& tensor_cores) {
  return {tensor_cores.profile.name, tensor_cores.accumulator, tensor_cores.rounding_draw,
          tensor_cores.element};
}

class ProblemData {
 public:
  /// Takes the user's own inputs, or generates them: whole tensors or, if the plan samples tiles,
  /// only its key heads and the heads that read them; the others are zeros.
  ProblemData(const Problem& problem, const InputSpec& input, CheckPlan plan);

  const Problem& problem() const { return problem_; }
  /// The type of q, k, v and O, and of the gradients. The host keeps them as Half.
  ElementType element() const { return element_; }
  /// How a device lays the tensors out. The host keeps them contiguous.
  TensorLayout layout() const { return layout_; }
  const CheckPlan& plan() const { return plan_; }
  ForwardInputs inputs() const { return inputs_->view(); }

  /// Each is computed on first use.
  const ExactRows& exact();
  /// Errors of the plan's rows against exact(), with the plan's weights.
  ErrorMetrics error_of(const ForwardRows& got);
  const DropoutMaskSummary& dropout_mask();
  /// The error of the unfused computation on these tensor cores with this accumulator: it sets a
  /// kernel's tolerance.
  const ErrorMetrics& unfused_error(const TensorCores& tensor_cores);

 private:
  OwnedInputs generate_heads(const InputSpec& input) const;

  Problem problem_;
  ElementType element_;
  TensorLayout layout_;
  CheckPlan plan_;
  std::shared_ptr<const OwnedInputs> inputs_;
  std::optional<ExactRows> exact_;
  std::optional<DropoutMaskSummary> dropout_mask_;
  std::map<UnfusedKey, ErrorMetrics> unfused_errors_;
};

class GradientData {
 public:
  /// `data` must outlive it and hold the inputs of the plan's heads.
  GradientData(const ProblemData& data, const InputSpec& input, GradientPlan plan);

  const GradientPlan& plan() const { return plan_; }
  const std::vector<Half>& d_o() const { return d_o_; }

  /// Each of these is computed on first use.
  ///
  /// q, k, v, dO, and the exact O and LSE of the plan's heads, rounded to the element type and fp32
  /// as in a kernel. An emulated backward pass by itself starts from these; on a GPU it starts from
  /// its own forward pass.
  BackwardInputs inputs();
  /// The same with the results of a forward pass, `forward`, which must outlive the result.
  BackwardInputs inputs_after(const RoundedForward& forward) const;
  /// The exact O and LSE, with `rows` replaced by a pass's results.
  RoundedForward forward_with(std::span<const QueryRow> rows, const ForwardRows& computed);
  const ExactGradients& exact();
  /// Errors of the plan's rows against exact(), with the plan's weights.
  GradientErrors errors_of(const HalfGradients& got);
  /// The change of the exact gradients if each element of O is off by a unit in the last place, up
  /// or down at random: rmse and max_abs.
  const GradientErrors& errors_of_a_unit();
  /// `after` is the preceding pass: none, or its own forward pass.
  enum class After { kNothing, kOwnForward };
  const GradientErrors& unfused_errors(const TensorCores& tensor_cores, After after);

 private:
  CheckedRows dq_rows() const { return {plan_.rows.dq.size(), plan_.dq_weights, data_.element()}; }
  CheckedRows dkv_rows() const {
    return {plan_.rows.dkv.size(), plan_.dkv_weights, data_.element()};
  }

  const ProblemData& data_;
  GradientPlan plan_;
  std::vector<Half> d_o_;
  std::optional<RoundedForward> forward_;
  std::optional<ExactGradients> exact_;
  std::optional<GradientErrors> errors_of_a_unit_;
  std::map<std::pair<UnfusedKey, After>, GradientErrors> unfused_errors_;
};

}  // namespace sparkbench
