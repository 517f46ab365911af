// The worker's side: the program once more, with --worker, running the cases that it is told.
#pragma once

#include "harness/cli/exit_code.h"
#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// Plans the sweep on options.worker_device, sends the plan or why there is none, and then for each
/// position that it is sent a record, until the channel at kWorkerSocket ends.
ExitCode serve_cases(const SweepRequest& request);

}  // namespace sparkbench
