// What is known of a case before it is run.
#pragma once

#include "harness/devices/device.h"
#include "harness/plan/run_settings.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The case's id, work, memory, prediction and warnings, and the line that repeats it; skipped,
/// with the reason, when it will not be run. `candidate` is the device's of the case's kernel.
CaseRecord start_record(const SweepCase& sweep_case, const Candidate& candidate,
                        const Device& device, const RunSettings& settings);

}  // namespace sparkbench
