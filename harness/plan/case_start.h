// The fields of a case's record that are known before it runs.
#pragma once

#include "harness/devices/device.h"
#include "harness/plan/run_settings.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The case's id, work, memory, prediction and warnings, and the line that repeats it; skipped,
/// with the reason, if it will not run. `candidate` is the device's candidate for the case's
/// kernel.
CaseRecord start_record(const SweepCase& sweep_case, const Candidate& candidate,
                        const Device& device, const RunSettings& settings);

}  // namespace sparkbench
