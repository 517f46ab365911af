// --dry-run: the cases of a sweep, what memory they take, and about how long.
#pragma once

#include <iosfwd>

#include "harness/session/planned_sweep.h"

namespace sparkbench {

/// A line per case of the shard that is left to do: its id, predicted memory, and estimated time or
/// why it is skipped; then the totals. With --resume the cases of that folder are done, and what
/// they took corrects the estimates.
void print_dry_run(const PlannedSweep& sweep, const SweepRequest& request, std::ostream& out);

}  // namespace sparkbench
