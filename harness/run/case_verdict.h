// Whether what a case computed is correct, and by how much it errs.
#pragma once

#include <string>

#include "harness/devices/device.h"

namespace sparkbench {

/// Who computed it, and the error allowed.
struct Judged {
  const Candidate& candidate;
  Tolerance tolerance;
};

/// Judges every output of the case: O and LSE of a forward pass, dQ, dK and dV of a backward pass,
/// and a forward pass's that was kept before a backward one. Puts their errors into the record.
/// Returns why they are too large; empty when they are not. `gradients` is null without a backward
/// pass.
///
/// A kernel is measured by the unfused computation with its accumulator, or, where that is not
/// finite, by itself (W-UNFUSED-NOT-FINITE). What that computation's error grants has an end where
/// it measures nothing (W-UNFUSED-INACCURATE; Tolerance::most). A kernel that errs by more than it
/// grants is measured by its largest error over several draws of its rounding errors, too
/// (W-ROUNDING-BY-CHANCE). A reference measures others: unless an element is not finite it is
/// correct, and a large error is a warning (W-REFERENCE-INACCURATE). What is correct, but not
/// beside the unfused computation with FP32 accumulators, is warned of (W-ERROR-OVER-UNFUSED). A
/// vendor's kernel must also be told from masks that are a key off (reference/mask_check.h).
std::string judge_outputs(const Judged& judged, ProblemData& data, GradientData* gradients,
                          const RunOutcome& outcome, CaseRecord& record);

/// Judges O and LSE, the first of these. Their errors go to record.accuracy.
std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record);

/// The second: dQ, dK and dV. What stands in record.accuracy goes to their side.
std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record);

}  // namespace sparkbench
