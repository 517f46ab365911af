// --dry-run: the cases of a sweep, their memory, and an estimate of their time.
#pragma once

#include "harness/plan/planned_sweep.h"
#include "harness/run/sweep_outputs.h"

namespace sparkbench {

/// Writes the cases to --json and writes no other file. Unless --json takes the standard output,
/// prints a line for each case of the shard that is still to do: its id, predicted memory, and
/// estimated time or why it is skipped; then the totals. With --resume the cases of that folder are
/// done, and their times correct the estimates.
void report_dry_run(const PlannedSweep& sweep, const SweepRequest& request, const Streams& streams);

}  // namespace sparkbench
