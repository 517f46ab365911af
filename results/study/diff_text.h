// What two runs differ in, for people.
#pragma once

#include <string>
#include <vector>

#include "results/record/comparability.h"
#include "results/study/run_diff.h"

namespace sparkbench {

struct RunDiff {
  DiffRules rules;
  std::vector<Difference> differences;  // of the runs themselves
  std::vector<CaseDiff> cases;
  bool is_first_complete = true, is_second_complete = true;
};

/// Compares runs, too.
RunDiff diff_of(const RunRecord& first, const RunRecord& second, const DiffRules& rules);

/// What differs between the runs themselves, a line each; a table of the cases that are not the
/// same, or of all; how many there are of each verdict; and the next step for each, with the
/// command that repeats the worst case.
std::string format_diff(const RunDiff& diff, bool shows_all);

}  // namespace sparkbench
