// Decides whether a case's result is correct, and measures its error.
#pragma once

#include <string>

#include "harness/devices/device.h"

namespace sparkbench {

/// The candidate, and its tolerance.
struct Judged {
  const Candidate& candidate;
  Tolerance tolerance;
};

/// Judges every output of the case: O and LSE of a forward pass; dQ, dK and dV of a backward pass;
/// and a forward pass's output that was kept before a backward one. Puts their errors into the
/// record. Returns why they are too large; empty if they are not. `gradients` is null without a
/// backward pass.
///
/// The unfused computation with a kernel's accumulator sets its tolerance. If that is not finite,
/// the kernel's error is judged by itself (W-UNFUSED-NOT-FINITE). The tolerance is capped if the
/// unfused computation's own error is too large (W-UNFUSED-INACCURATE; Tolerance::most). A kernel
/// that exceeds the tolerance is also compared with the largest error over several draws of the
/// unfused computation's rounding errors (W-ROUNDING-BY-CHANCE). A reference is correct unless an
/// element is not finite; a large error is only a warning (W-REFERENCE-INACCURATE). A correct
/// result with a large error relative to the unfused computation with FP32 accumulators gets a
/// warning (W-ERROR-OVER-UNFUSED). A vendor's kernel must also be distinguishable from masks that
/// are off by one key (reference/mask_check.h).
std::string judge_outputs(const Judged& judged, ProblemData& data, GradientData* gradients,
                          const RunOutcome& outcome, CaseRecord& record);

/// Judges O and LSE, the first of these. Their errors go to record.accuracy.
std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record);

/// The second: dQ, dK and dV. Moves record.accuracy into the gradients' `o`.
std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record);

}  // namespace sparkbench
