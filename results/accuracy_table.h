// The error study: FP16-ACC against FP32-ACC against the unfused computation in fp16.
#pragma once

#include <string>

#include "results/run_record.h"
#include "results/text_table.h"

namespace sparkbench {

/// A line per metric and head dim, a column per kernel (the unfused reference last); errors are
/// geometric means over the cases that all of them were verified on, max_abs the largest.
std::string format_accuracy_table(const RunRecord& run, TableStyle style);

/// What to do about it, from the run's own numbers: "volta-fp32acc's error is 0.41x that of
/// unfused-fp16 and volta-fp16acc's 2.1x: use volta-fp32acc, unless ...". Says so when the run has
/// too little to compare.
std::string format_accuracy_advice(const RunRecord& run);

}  // namespace sparkbench
