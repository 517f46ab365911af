// Whether a kernel that has a mask of its own, a vendor's, has the one that it was asked for. One
// counts the keys of a window, another the offset of its last one, and being off by a key is a
// small error where windows are long. So beside the oracle, with which it must agree, it is
// compared with the oracle under each mask that is a key off, with which it must not: exactly one
// agrees.
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

/// The problem's mask with one of its numbers off by one, up and down, where that shows or hides a
/// pair: window:4 and window:6 of window:5, unless there are but 5 keys. None of full and causal.
std::vector<MaskSpec> near_misses(const Problem& problem);

/// Empty where the asked rows that a near miss changes are all told from it by `why_incorrect`,
/// which has the tolerance that agreeing with the oracle has. Else why there is doubt: the output
/// agrees with a near miss too, or no asked row tells.
std::string why_mask_in_doubt(const Problem& problem, const ForwardInputs& inputs,
                              std::span<const QueryRow> rows, const ForwardRows& got,
                              const std::function<std::string(const ErrorMetrics&)>& why_incorrect);

/// The same of gradients. Those of a near miss are of its own forward pass: `inputs` needs no o and
/// lse.
std::string why_mask_in_doubt(
    const Problem& problem, const BackwardInputs& inputs, const GradientRows& rows,
    const HalfGradients& got,
    const std::function<std::string(const GradientErrors&)>& why_incorrect);

}  // namespace sparkbench
