// How a sweep ends: a sentence, the warnings, and how to repeat each failure.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// "45 ok, 0 incorrect, 2 skipped, 1 failed"
std::string format_counts(const std::vector<CaseRecord>& cases);

/// A line per kernel, and pass when there are several: "A ran 7.92 +- 0.03 times faster than B
/// (geometric mean of 24 cases), error 0.58x of the unfused computation's;", the speed only where
/// there are valid times, the error of fused kernels only, the geometric mean of the table's
/// error_over_unfused. What a model predicts of a kernel's speed is a line of its own, and so is
/// how far predictions were off where there are times too; then format_counts(), without a newline.
std::string format_closing_sentence(const RunRecord& run);

/// The closing sentence; each warning once, with how many cases have it; and for each case that is
/// incorrect or failed its reason and the command that repeats it. Nothing in it rules a terminal.
std::string format_summary(const RunRecord& run, const TableView& view);

/// The same, and last of all which kernel is the fastest correct one (fastest_line.h).
std::string format_end(const RunRecord& run, const TableView& view);

/// The contents of summary.md: a title, format_case_table() and format_end().
std::string format_summary_markdown(const RunRecord& run);

}  // namespace sparkbench
