// The error study as a table: FP16-ACC against FP32-ACC against the unfused computation in fp16.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// One block per pass and output (results/study/accuracy_study.h), with a line per metric and
/// head_dim for which a kernel has a value and a column per kernel. Metrics named max... and
/// lse_max_abs are maxima over all cases, error_ratio is the geometric mean, and every other metric
/// the arithmetic mean. "" if no kernel was verified.
std::string format_accuracy_table(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
