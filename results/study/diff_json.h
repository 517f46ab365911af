// The differences of two runs as JSON: results/sparkbench.diff.schema.json.
#pragma once

#include <string>
#include <vector>

#include "results/study/run_diff.h"

namespace sparkbench {

/// Indented, with a newline at the end. `fails_on`: the verdicts that end the program with 1.
std::string diff_to_json(const RunRecord& first, const RunRecord& second, const RunDiff& diff,
                         const std::vector<std::string>& fails_on, int exit_code);

}  // namespace sparkbench
