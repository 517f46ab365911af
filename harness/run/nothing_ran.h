// A sweep that was asked for a kernel and never ran it has not done what it was asked.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// A line for each name or glob of --kernel, a glob taken as a whole, of which no case ran: why.
/// A kernel that would run with more memory (E-OOM-PREDICTED), or of a layer that is predicted
/// alone (E-ONLY-PREDICTED), is not at fault. Of a shard, of a run that is not complete and of a
/// record that does not say what was asked for, nothing is said.
std::vector<std::string> why_nothing_ran(const RunRecord& run);

}  // namespace sparkbench
