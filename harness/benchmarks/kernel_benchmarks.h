// The cases of a sweep as benchmarks of Google Benchmark: its filters, repetitions, output formats
// and compare.py, with the measurement of harness/run/case_runner.h.
#pragma once

#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// One benchmark per case, named by the device and the case's id. Its times are the GPU's samples,
/// `min_samples` of them, one per iteration; its label has the measurement's warnings. A case that
/// is skipped, fails or is incorrect reports the reason instead. `sweep` must outlive the
/// benchmarks.
///
/// An emulated device has no times, and the host's are not a kernel's: registers nothing there and
/// returns false.
bool register_kernel_benchmarks(PlannedSweep& sweep, int min_samples);

}  // namespace sparkbench
