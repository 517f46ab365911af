#include "harness/encoder/layer_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/run/outcome_record.h"

namespace sparkbench {
namespace {

std::optional<double> ratio_of(const ErrorMetrics& error, const ErrorMetrics& unfused) {
  const double ratio = error_ratio(error, unfused);
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

Accuracy accuracy_of_output(const ErrorMetrics& error, const ErrorMetrics& same,
                            const ErrorMetrics& fp32) {
  Accuracy accuracy = make_accuracy("o", error, {same, fp32}, {});
  accuracy.output_hash.reset();
  return accuracy;
}

const ErrorMetrics& error_of(const std::vector<PartError>& errors, const std::string& part) {
  const auto found = std::ranges::find(errors, part, &PartError::of);
  if (found == errors.end()) throw std::logic_error("the unfused layer has no part " + part);
  return found->error;
}

/// The largest error of an fp16 layer whose arguments fit into fp16: some parts in a thousand, with
/// ReLU some in a hundred (reference/encoder/errors.md). A baseline with a larger error
/// cannot set a tolerance.
constexpr double kMostOfMeasure = 0.05;

void warn_of_measure(const std::vector<PartError>& measure, CaseRecord& record) {
  for (const auto& [of, error] : measure) {
    if (error.nonfinite == 0 && error.rel_l2 <= kMostOfMeasure) continue;
    record.warnings.push_back(
        {"W-REFERENCE-INACCURATE",
         fmt::format("{}: the unfused fp16 layer, by which others are judged, errs by more than "
                     "{:g}",
                     of, kMostOfMeasure),
         error.nonfinite == 0 ? std::optional(error.rel_l2) : std::nullopt});
    return;
  }
}

void warn_over_unfused(const Tolerance& tolerance, CaseRecord& record) {
  double most = 0;
  for (const LayerError& error : record.layer->errors) {
    most = std::max(most, error.over_unfused.value_or(0));
  }
  if (most <= tolerance.ratio) return;
  record.warnings.push_back(
      {std::string(kOverUnfusedWarning),
       fmt::format("a part errs by over {:g} times what the unfused layer with FP32 accumulators "
                   "does; one with the attention's accumulator is not at hand to judge it by",
                   tolerance.ratio),
       most});
}

}  // namespace

void judge_layer(const std::vector<PartError>& errors, const UnfusedLayer& unfused, bool is_measure,
                 const Tolerance& tolerance, CaseRecord& record) {
  const bool is_judged_by_itself = is_measure || unfused.same == nullptr;
  std::string why;
  for (const auto& [of, error] : errors) {
    record.layer->errors.push_back({of, error.checked_elements, error.rel_l2, error.max_abs,
                                    ratio_of(error, error_of(unfused.fp32, of))});
    const std::string wrong = is_judged_by_itself
                                  ? (error.nonfinite == 0 ? "" : "an element is not finite")
                                  : why_incorrect(error, error_of(*unfused.same, of), tolerance);
    if (why.empty() && !wrong.empty()) why = fmt::format("{}: {}", of, wrong);
  }
  warn_of_measure(unfused.fp32, record);
  if (record.problem.pass == Pass::kForward) {
    const auto& same = unfused.same != nullptr ? *unfused.same : unfused.fp32;
    record.accuracy =
        accuracy_of_output(errors.front().error, same.front().error, unfused.fp32.front().error);
  }
  if (!why.empty()) {
    record.status = Status::kIncorrect;
    record.reason = Reason{"E-INCORRECT", why};
  } else if (!is_measure && unfused.same == nullptr) {
    warn_over_unfused(tolerance, record);
  }
}

}  // namespace sparkbench
