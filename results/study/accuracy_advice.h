// What the error study means for whoever must choose a kernel.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// From the run's own numbers: "The error of volta-fp32acc is 0.41x, that of volta-fp16acc 2.1x
/// that of unfused-fp16 (...). Use volta-fp32acc: ...". Says so when there is nothing to compare. A
/// line per pass and output when there are several: "dq, pass bwd: The error of ...".
std::string format_accuracy_advice(const RunRecord& run);

}  // namespace sparkbench
