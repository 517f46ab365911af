// How large the inputs may grow before a kernel's output is useless.
#pragma once

#include <optional>
#include <string>

#include "results/render/text_table.h"
#include "results/study/accuracy_study.h"

namespace sparkbench {

/// What this project allows FP16 accumulators on normal inputs.
inline constexpr double kBreakingRelL1 = 0.002;

/// The first scales of the inputs, of those that the run tried, at which a kernel breaks.
struct AccuracyBreak {
  std::optional<int> above_limit;  // rel_l1 exceeds kBreakingRelL1, or not_finite
  std::optional<int> not_finite;   // an element is not finite where the exact one is
};

/// Over the run's cases of `kernel` and head_dim with the study's pass and input, at every scale,
/// that checked the study's output.
AccuracyBreak find_break(const RunRecord& run, const AccuracyStudy& study,
                         const std::string& kernel, int head_dim);

/// For each study whose input comes in several scales, two lines per head
/// dim, one a way to break, a column per kernel; and the scale at which the inputs themselves
/// overflow fp16, where a case was skipped for that. "" when no input comes in several scales.
std::string format_accuracy_breaks(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
