// Runs that a command is given by their paths.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// As read_stored_run(). Throws UsageError.
RunRecord load_run(const std::string& path);

/// To be put together: every case says which run it is of.
std::vector<RunRecord> load_runs(const std::vector<std::string>& paths);

}  // namespace sparkbench
