// Stored runs that a command reads by path.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// See read_stored_run(). Throws UsageError.
RunRecord load_run(const std::string& path);

/// The same without damaged rows of its journal, which are reported to `err`, a line each.
RunRecord salvage_run(const std::string& path, std::ostream& err);

/// For merging: every case records its run.
std::vector<RunRecord> load_runs(const std::vector<std::string>& paths);

}  // namespace sparkbench
