// A problem with its inputs, the part that is checked, and the reference results: made once and
// shared by every kernel that runs on the problem.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

#include "harness/run/problems/check_plan.h"
#include "harness/run/problems/own_tensors.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The distribution of the inputs, or the user's own.
struct InputSpec {
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 0;
  float scale = 1.0f;                               // of q, k and v
  std::shared_ptr<const OwnTensors> own = nullptr;  // with the problem's extents
};

/// Identifies an unfused computation: profile, accumulator and draw of rounding errors.
using UnfusedKey = std::tuple<std::string_view, Accumulator, unsigned>;
inline UnfusedKey key_of(const TensorCores& tensor_cores) {
  return {tensor_cores.profile.name, tensor_cores.accumulator, tensor_cores.rounding_draw};
}

class ProblemData {
 public:
  /// Takes the user's own inputs, or generates them: whole tensors or, if the plan samples tiles,
  /// only its key heads and the heads that read them; the others are zeros.
  ProblemData(const Problem& problem, const InputSpec& input, CheckPlan plan);

  const Problem& problem() const { return problem_; }
  const CheckPlan& plan() const { return plan_; }
  ForwardInputs inputs() const { return inputs_->view(); }

  /// Each is computed on first use.
  const ExactRows& exact();
  /// Errors of the plan's rows against exact(), with the plan's weights.
  ErrorMetrics error_of(const ForwardRows& got);
  const DropoutMaskSummary& dropout_mask();
  /// The error of the unfused fp16 computation on these tensor cores with this accumulator: it sets
  /// a kernel's tolerance.
  const ErrorMetrics& unfused_error(const TensorCores& tensor_cores);

 private:
  OwnedInputs generate_heads(const InputSpec& input) const;

  Problem problem_;
  CheckPlan plan_;
  std::shared_ptr<const OwnedInputs> inputs_;
  std::optional<ExactRows> exact_;
  std::optional<DropoutMaskSummary> dropout_mask_;
  std::map<UnfusedKey, ErrorMetrics> unfused_errors_;
};

}  // namespace sparkbench
