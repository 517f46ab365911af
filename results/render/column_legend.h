// Explanations of the columns that need one.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// One line for each shown column, by name, that needs one; "" if none does.
std::string legend_of(const std::vector<std::string>& shown, const RunRecord& run);

}  // namespace sparkbench
