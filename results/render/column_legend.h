// What the columns of a table mean that do not explain themselves.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// A line for each of the columns shown, by name, that needs one; "" when none does.
std::string legend_of(const std::vector<std::string>& shown, const RunRecord& run);

}  // namespace sparkbench
