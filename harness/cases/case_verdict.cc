#include "harness/cases/case_verdict.h"

#include <utility>

#include "harness/cases/outcome_record.h"
#include "reference/mask_check.h"

namespace sparkbench {
namespace {

/// A reference is measured by itself: three roundings to fp16 of values up to the largest |want|.
constexpr Tolerance kReferenceTolerance{.ratio = 0.0, .floor = 0x1p-8};

/// A chain of three more products and a softmax gradient, each rounded to fp16.
constexpr Tolerance kReferenceGradientTolerance{.ratio = 0.0, .floor = 0x1p-7};

/// A vendor's kernel counts a window's keys in its own way.
bool has_own_mask(const Contender& contender) {
  return contender.kind() == ContenderKind::kVendorKernel;
}

}  // namespace

std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record) {
  const ErrorMetrics error = error_metrics(outcome.rows, data.exact());
  const ErrorMetrics& unfused = data.unfused_error(
      judged.contender.arithmetic(), judged.contender.accumulator().value_or(Accumulator::kFp32));
  record.accuracy = make_accuracy("o", error, unfused, outcome.rows.o);
  record.accuracy->lse_max_abs = error.lse_max_abs;
  record.accuracy->worst_index = worst_position(data.plan().rows, error, data.problem());
  add_mask_and_repeatability(data.dropout_mask(), outcome, *record.accuracy);
  if (judged.contender.role() == Role::kReference) {
    return why_incorrect(error, ErrorMetrics{}, kReferenceTolerance);
  }
  const auto why = [&](const ErrorMetrics& of) {
    return why_incorrect(of, unfused, judged.tolerance);
  };
  if (!has_own_mask(judged.contender) || !why(error).empty()) return why(error);
  return why_mask_in_doubt(data.problem(), data.inputs(), data.plan().rows, outcome.rows, why);
}

std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record) {
  const GradientErrors error = gradient_errors(outcome.gradients, gradients.exact());
  const GradientErrors& unfused = gradients.unfused_errors(
      judged.contender.arithmetic(), judged.contender.accumulator().value_or(Accumulator::kFp32));
  GradientAccuracy accuracy{make_accuracy("dq", error.dq, unfused.dq, outcome.gradients.dq),
                            make_accuracy("dk", error.dk, unfused.dk, outcome.gradients.dk),
                            make_accuracy("dv", error.dv, unfused.dv, outcome.gradients.dv)};
  const GradientRows& rows = gradients.plan().rows;
  accuracy.dq.worst_index = worst_position(rows.dq, error.dq, data.problem());
  accuracy.dk.worst_index = worst_position(rows.dkv, error.dk, data.problem());
  accuracy.dv.worst_index = worst_position(rows.dkv, error.dv, data.problem());
  for (Accuracy* gradient : {&accuracy.dq, &accuracy.dk, &accuracy.dv}) {
    add_mask_and_repeatability(data.dropout_mask(), outcome, *gradient);
  }
  record.gradient_accuracy = std::move(accuracy);
  if (judged.contender.role() == Role::kReference) {
    return why_incorrect(error, GradientErrors{}, kReferenceGradientTolerance);
  }
  const auto why = [&](const GradientErrors& of) {
    return why_incorrect(of, unfused, judged.tolerance);
  };
  if (!has_own_mask(judged.contender) || !why(error).empty()) return why(error);
  return why_mask_in_doubt(data.problem(), gradients.inputs(), rows, outcome.gradients, why);
}

}  // namespace sparkbench
