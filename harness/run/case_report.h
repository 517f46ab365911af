// All facts about one problem and every kernel that ran on it, one per line.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// The problem of the run's first case, the device and the method.
std::string format_run_head(const RunRecord& run);

/// Status, times or why there are none, work, memory, errors, counts of an emulated run, warnings,
/// and the command that repeats the case. Unknown values are left out.
std::string format_case_report(const CaseRecord& record);

/// Breaks values of either report at the view's width, if the view breaks sentences. The line that
/// repeats a case stays whole, because users copy it.
std::string wrapped_report(const std::string& report, const TableView& view);

}  // namespace sparkbench
