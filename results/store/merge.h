// Merges runs into one: the shards of a sweep, or runs meant for one table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// The name in --allow for cases that are in two runs.
inline constexpr std::string_view kDuplicates = "duplicates";

/// The cases of all runs: shards in the order of the sweep, other runs one after the other. Tags
/// and options that all runs share are kept; machine, build and method are the first run's.
/// Complete if every run is complete and all shards are there. The last one of duplicate cases
/// counts.
///
/// Throws std::invalid_argument, one line that names the helpful --allow, if the runs differ in
/// build, device or method, or share a case, and `allowed` does not name that; also if there is no
/// run.
RunRecord merge_runs(const std::vector<RunRecord>& runs, const std::vector<std::string>& allowed);

/// If some runs are shards I/N of a sweep: the missing shards in the form of --shard, "2/8". At
/// most 64.
std::vector<std::string> missing_shards(const std::vector<RunRecord>& runs);

}  // namespace sparkbench
