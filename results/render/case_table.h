// The table of a sweep: a line per case, only the columns that vary, constants at its head.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Times are medians, memory is the measured peak or else the predicted one, "-" is no value.
///
/// Columns that no case has a value for are left out, and what all cases share is in the head, as
/// is an extent that follows from another: "batch 16384 / seqlen". Where the view's width is too
/// little, columns give way, and a line names them. Columns that the view names are all there, in
/// blocks below each other where they do not fit, and so are all that have a value for "all".
///
/// By an axis there is a table for each of its values, under a line that says it.
std::string format_case_table(const RunRecord& run, const TableView& view);

/// The kernel and the axes that vary in a run's cases, for the left of a table of some of them.
std::vector<TextColumn> leading_columns(const std::vector<CaseRecord>& of_run,
                                        const std::vector<CaseRecord>& shown);

}  // namespace sparkbench
