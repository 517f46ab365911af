// The worker's side: the program started with --worker, which runs the cases that it is sent.
#pragma once

#include "harness/cli/exit_code.h"
#include "harness/plan/planned_sweep.h"

namespace sparkbench {

/// Plans the sweep on options.worker_device and sends the plan, or why there is none. Then sends a
/// record for each position that it receives, until the channel at kWorkerSocket ends.
ExitCode serve_cases(const SweepRequest& request);

}  // namespace sparkbench
