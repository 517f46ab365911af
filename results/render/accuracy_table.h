// The error study as a table: FP16-ACC against FP32-ACC against the unfused computation in fp16.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// A block per pass and output (results/study/accuracy_study.h): a line per metric and head dim
/// that any kernel has a value of, a column per kernel. Metrics whose name begins with max, and
/// lse_max_abs, are the largest of all cases; error_ratio is the geometric mean, every other metric
/// the arithmetic one. "" when no kernel was verified.
std::string format_accuracy_table(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
