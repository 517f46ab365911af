// How a sweep ends: a sentence, the warnings, and how to repeat each failure.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// "45 ok, 0 incorrect, 2 skipped, 1 failed"
std::string format_counts(const std::vector<CaseRecord>& cases);

/// Those counts; how far predictions were off where there are times too; each warning once, with
/// how many cases have it; and for each case that is incorrect or failed its reason and the command
/// that repeats it. That an emulated device has no time is no warning here: the closing lines say
/// what times are. Nothing in it rules a terminal.
std::string format_summary(const RunRecord& run, const TableView& view);

/// The same, and last of all which kernel to use (closing.h).
std::string format_end(const RunRecord& run, const TableView& view);

/// The contents of summary.md: a title, format_case_table() and format_end().
std::string format_summary_markdown(const RunRecord& run);

}  // namespace sparkbench
