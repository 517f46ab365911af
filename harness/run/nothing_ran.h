// A sweep fails if a requested kernel never ran.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// One line for each name or glob of --kernel (a glob as a whole) of which no case ran, with the
/// reason. Excludes kernels that would run with more memory (E-OOM-PREDICTED), and layers that are
/// only predicted (E-ONLY-PREDICTED). Empty for a shard, for an incomplete run, and for a record
/// that does not say what was requested.
std::vector<std::string> why_nothing_ran(const RunRecord& run);

}  // namespace sparkbench
