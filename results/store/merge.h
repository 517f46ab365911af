// One run of several: of the shards of a sweep, or of runs that were meant for one table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// A case that two runs have, as --allow names it.
inline constexpr std::string_view kDuplicates = "duplicates";

/// The cases of all runs: of shards in the order of the sweep, else one run after the other. What
/// the runs say alike stays (tags, options); who, where and how are the first's. Complete when
/// every run is and, of shards, all are there. Of a case that comes twice the last one counts.
///
/// Throws std::invalid_argument, one line that says which --allow helps, when the runs differ in
/// build, device or method, or share a case, and `allowed` does not name that; and when there is no
/// run.
RunRecord merge_runs(const std::vector<RunRecord>& runs, const std::vector<std::string>& allowed);

/// Where some of the runs are shards I/N of a sweep, those of the N that are not there, as --shard
/// takes them: "2/8". Of more than 64 the first 64.
std::vector<std::string> missing_shards(const std::vector<RunRecord>& runs);

}  // namespace sparkbench
