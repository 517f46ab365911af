// What the error study means for whoever must choose a kernel.
#pragma once

#include <string>

#include "results/run_record.h"

namespace sparkbench {

/// From the run's own numbers: "The error of volta-fp32acc is 0.41x, that of volta-fp16acc 2.1x
/// that of unfused-fp16 (...). Use volta-fp32acc: ...". Says so when there is nothing to compare.
std::string format_accuracy_advice(const RunRecord& run);

}  // namespace sparkbench
