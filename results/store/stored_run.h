// A run read back from where it was stored, finished or not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// Two cases with equal keys measure the same thing: the id and the seed.
std::string case_key(const CaseRecord& record);

/// Of cases with equal keys the last, where the first was: a case that was run again replaces its
/// older record.
std::vector<CaseRecord> keep_latest(const std::vector<CaseRecord>& cases);

/// `path` is a run's folder, whose journal is then the truth about its cases, in the order of the
/// sweep; or a file that --json wrote. Throws std::invalid_argument, one line, when it is neither
/// or is damaged.
RunRecord read_stored_run(const std::filesystem::path& path);

}  // namespace sparkbench
