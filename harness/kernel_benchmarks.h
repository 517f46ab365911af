// The cases of a sweep as benchmarks of Google Benchmark: its filters, repetitions, output formats
// and compare.py, over the measurement of harness/cases/case_runner.h.
#pragma once

#include "harness/session/planned_sweep.h"

namespace sparkbench {

/// One benchmark a case, named by the device and its id. A GPU's case reports its samples' time, of
/// which it has `min_samples`, one an iteration; an emulated kernel's reports what the emulation
/// took the host. What is skipped, fails or is incorrect reports why instead. References of an
/// emulated device have no time and are left out. `sweep` must outlive the benchmarks.
void register_kernel_benchmarks(PlannedSweep& sweep, int min_samples);

}  // namespace sparkbench
