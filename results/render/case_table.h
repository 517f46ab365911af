// The table of a sweep: one line per case, only columns that vary, constants in the heading.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Times are medians. Memory is the measured peak, or else the predicted one. "-" means no value.
///
/// Columns without any value are dropped. Values that all cases share move to the heading, and so
/// does an extent that follows from another: "batch 16384 / seqlen". If the view is too narrow,
/// columns are dropped and a line names them. Columns that the view requests are all shown, in
/// several blocks if necessary; "all" requests every column with a value.
///
/// With a --by axis there is one table per value, under a line with that value.
std::string format_case_table(const RunRecord& run, const TableView& view);

/// The kernel and the axes that vary over a run's cases: the left columns for a table of some of
/// them.
std::vector<TextColumn> leading_columns(const std::vector<CaseRecord>& of_run,
                                        const std::vector<CaseRecord>& shown);

}  // namespace sparkbench
