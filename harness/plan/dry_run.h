// --dry-run: the cases of a sweep, what memory they take, and about how long.
#pragma once

#include "harness/plan/planned_sweep.h"
#include "harness/run/sweep_outputs.h"

namespace sparkbench {

/// Writes the cases to --json, and nothing to any other file. Unless that takes the standard
/// output, prints a line per case of the shard that is left to do: its id, predicted memory, and
/// estimated time or why it is skipped; then the totals. With --resume the cases of that folder are
/// done, and what they took corrects the estimates.
void report_dry_run(const PlannedSweep& sweep, const SweepRequest& request, const Streams& streams);

}  // namespace sparkbench
