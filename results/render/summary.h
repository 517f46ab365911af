// The end of a sweep: the counts, the warnings, and how to repeat each failure.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// "45 ok, 0 incorrect, 2 skipped, 1 failed"
std::string format_counts(const std::vector<CaseRecord>& cases);

/// The counts; how far predictions were off, if there are times too; each warning once, with its
/// number of cases; and for each incorrect or failed case the reason and the command that repeats
/// it. Leaves out the warning that an emulated device has no time, because the closing lines cover
/// it. The text contains no terminal control sequences.
std::string format_summary(const RunRecord& run, const TableView& view);

/// The same, followed by which kernel to use (closing.h).
std::string format_end(const RunRecord& run, const TableView& view);

/// The contents of summary.md: a title, format_case_table() and format_end().
std::string format_summary_markdown(const RunRecord& run);

}  // namespace sparkbench
