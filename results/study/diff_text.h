// The differences of two runs, for people.
#pragma once

#include <string>
#include <vector>

#include "results/render/text_table.h"
#include "results/study/run_diff.h"

namespace sparkbench {

/// The differences between the runs themselves, a line each; a table of the cases that differ, or
/// of all; the number of cases for each verdict; how far each run's predictions were off; and the
/// next step for each verdict, with the command that repeats the worst case.
std::string format_diff(const RunDiff& diff, bool shows_all, const TableView& view = {});

/// The names of the table's columns, "all" last.
std::vector<std::string> diff_column_names();

}  // namespace sparkbench
