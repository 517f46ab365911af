// Runs that a command is given by their paths.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// As read_stored_run(). Throws UsageError.
RunRecord load_run(const std::string& path);

/// The same without what is damaged in its journal, which is told to `err`, a line each.
RunRecord salvage_run(const std::string& path, std::ostream& err);

/// To be put together: every case says which run it is of.
std::vector<RunRecord> load_runs(const std::vector<std::string>& paths);

}  // namespace sparkbench
