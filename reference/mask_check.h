// Checks that a candidate with its own mask implementation (a vendor's) applies the requested mask.
// Conventions differ: one library counts a window's keys, another gives the offset of the last one.
// An off-by-one error is small in a long window. So the output must agree with the oracle and
// disagree with the oracle under each mask that is off by one key.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/error_metrics.h"
#include "reference/gradient_errors.h"
#include "reference/tensors/backward_rows.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

/// The problem's mask with one of its numbers off by one, up and down, if that shows or hides a
/// pair: window:4 and window:6 for window:5, unless there are only 5 keys. Empty for full and
/// causal.
std::vector<MaskSpec> near_misses(const Problem& problem);

/// Empty if `why_incorrect`, with the tolerance of the comparison with the oracle, distinguishes
/// every requested row that a near miss changes. Otherwise the doubt: the output also agrees with a
/// near miss, or no requested row can tell them apart.
std::string why_mask_in_doubt(const Problem& problem, const ForwardInputs& inputs,
                              std::span<const QueryRow> rows, const ForwardRows& got,
                              const std::function<std::string(const ErrorMetrics&)>& why_incorrect,
                              ElementType element = ElementType::kFp16);

/// The same for gradients. A near miss's gradients use its own forward pass: `inputs` needs no o
/// and lse.
std::string why_mask_in_doubt(
    const Problem& problem, const BackwardInputs& inputs, const GradientRows& rows,
    const HalfGradients& got,
    const std::function<std::string(const GradientErrors&)>& why_incorrect,
    ElementType element = ElementType::kFp16);

}  // namespace sparkbench
