// How large the inputs can be before a kernel's output is useless.
#pragma once

#include <optional>
#include <string>

#include "results/render/text_table.h"
#include "results/study/accuracy_study.h"

namespace sparkbench {

/// This project's limit for FP16 accumulators on normal inputs; for bf16 as many units.
inline constexpr double kBreakingRelL1 = 0.002;
inline double breaking_rel_l1(ElementType element) {
  return kBreakingRelL1 * unit_of(element) / unit_of(ElementType::kFp16);
}

/// The smallest tested scales of the inputs at which a kernel breaks.
struct AccuracyBreak {
  std::optional<int> above_limit;  // rel_l1 exceeds breaking_rel_l1(), or not_finite
  std::optional<int> not_finite;   // an element is not finite although the exact one is
};

/// Over the run's cases of `kernel` and head_dim with the study's pass, input and output, at every
/// scale.
AccuracyBreak find_break(const RunRecord& run, const AccuracyStudy& study,
                         const std::string& kernel, int head_dim);

/// For each study with several input scales: two lines per head_dim, one for each way to break, and
/// a column per kernel. Also the scale at which the inputs themselves overflow fp16, if a case was
/// skipped for that. "" if no input has several scales.
std::string format_accuracy_breaks(const RunRecord& run, const TableView& view);

}  // namespace sparkbench
