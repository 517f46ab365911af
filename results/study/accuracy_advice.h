// Conclusions from the error study for the choice of a kernel.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// Compares the fused kernels, a line per pass, output and input: "The error of volta-fp32acc is
/// 0.41x, that of volta-fp16acc 2.1x that of the unfused computation (...)". Also says if there is
/// nothing to compare, and which kernels are incorrect.
std::string format_accuracy_advice(const RunRecord& run);

/// The final line: "Use volta-fp32acc: ...", with its error and the scale at which it overflows. It
/// is the fused kernel with the smallest mean rel_l1 among those that are correct in every study of
/// the run (results/study/accuracy_study.h). "Use none of ..." if there is none.
std::string format_recommendation(const RunRecord& run);

}  // namespace sparkbench
