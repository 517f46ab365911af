// The table of a sweep: a line per case, only the columns that vary, constants at its head.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Times are medians, memory is the measured peak or else the predicted one, "-" is no value.
/// Columns that no case has a value for are left out.
std::string format_case_table(const RunRecord& run, TableStyle style);

}  // namespace sparkbench
