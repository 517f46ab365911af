// The cases of a sweep as benchmarks of Google Benchmark: its filters, repetitions, output formats
// and compare.py, over the measurement of harness/run/case_runner.h.
#pragma once

#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// One benchmark a case, named by the device and its id. Its time is that of the GPU's samples, of
/// which it has `min_samples`, one an iteration; its label is the warnings of the measurement. What
/// is skipped, fails or is incorrect reports why instead. `sweep` must outlive the benchmarks.
///
/// An emulated device has no time, and the host's is no kernel's: registers nothing there, and says
/// so by false.
bool register_kernel_benchmarks(PlannedSweep& sweep, int min_samples);

}  // namespace sparkbench
