// The fields of a case's record that are known before it runs.
#pragma once

#include "harness/run/case_workload.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The case's id, work, memory, prediction and warnings, and the line that repeats it; skipped,
/// with the reason, if it will not run.
CaseRecord start_record(const SweepCase& sweep_case, const CaseWorkload& workload,
                        const Device& device, const RunSettings& settings);

}  // namespace sparkbench
