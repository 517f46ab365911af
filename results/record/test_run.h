// Records for the tests in results/: one of every status, with and without times.
#pragma once

#include "results/record/run_record.h"

namespace sparkbench {

/// A verified case on an emulated device: no times, and a warning that says why.
CaseRecord sample_emulated_case();

/// A case of the same problem on a GPU, with every optional field except the predicted ones.
CaseRecord sample_timed_case();

/// The same with a prediction: it took 0.824 ms; 0.8 were likely, in a band of 0.7 to 1.
CaseRecord sample_predicted_case();

/// An emulated run of two fused kernels and the unfused reference on two problems, then a skipped,
/// an incorrect and a failed case.
RunRecord sample_run();

/// The verified cases of sample_run() as backward passes: the error of dk is twice that of dq, the
/// error of dv half of it.
RunRecord sample_backward_run();

}  // namespace sparkbench
