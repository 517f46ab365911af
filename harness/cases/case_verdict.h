// Whether what a case computed is correct, and by how much it errs.
#pragma once

#include <string>

#include "harness/devices/device.h"

namespace sparkbench {

/// Who computed it, and the error allowed.
struct Judged {
  const Contender& contender;
  Tolerance tolerance;
};

/// Puts the errors of O and LSE into the record. Returns why they are too large; empty when they
/// are not. A kernel is measured by the unfused computation with its accumulator, or, where that is
/// not finite, by itself (W-UNFUSED-NOT-FINITE). A reference measures others: unless an element is
/// not finite it is correct, and a large error is a warning (W-REFERENCE-INACCURATE). What is
/// correct, but not beside the unfused computation with FP32 accumulators, is warned of
/// (W-ERROR-OVER-UNFUSED). A vendor's kernel must besides be told from masks that are a key off
/// (reference/mask_check.h).
std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record);

/// The same for dQ, dK and dV.
std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record);

}  // namespace sparkbench
