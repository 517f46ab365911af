// What the error study means for whoever must choose a kernel.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// How the fused kernels compare, a line per pass, output and input: "The error of volta-fp32acc is
/// 0.41x, that of volta-fp16acc 2.1x that of the unfused computation (...)". Says so when there is
/// nothing to compare, and which kernels are incorrect.
std::string format_accuracy_advice(const RunRecord& run);

/// The last word, one line: "Use volta-fp32acc: ...", with its error and where it overflows. Of the
/// fused kernels that are correct in every study of the run (results/study/accuracy_study.h) it is
/// the one with the smallest mean rel_l1. "Use none of ..." where there is no such kernel.
std::string format_recommendation(const RunRecord& run);

}  // namespace sparkbench
