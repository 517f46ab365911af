#include "harness/cases/case_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/cases/outcome_record.h"
#include "reference/mask_check.h"

namespace sparkbench {
namespace {

/// What an error may be by itself: three roundings to fp16 of values up to the largest |want|.
constexpr Tolerance own_tolerance(const ErrorMetrics& /*of*/) { return {0.0, 0x1p-8}; }

/// A chain of three more products and a softmax gradient, each rounded to fp16.
constexpr Tolerance own_tolerance(const GradientErrors& /*of*/) { return {0.0, 0x1p-7}; }

/// About what rounding a result to fp16 costs: beside less than that no ratio says anything.
constexpr double kRoundingError = 0x1p-12;

/// A vendor's kernel counts a window's keys in its own way.
bool has_own_mask(const Contender& contender) {
  return contender.kind() == ContenderKind::kVendorKernel;
}

void warn(CaseRecord& record, std::string_view code, std::string message,
          std::optional<double> value) {
  record.warnings.push_back({std::string(code), std::move(message), value});
}

void warn_that_unfused_overflows(CaseRecord& record) {
  warn(record, "W-UNFUSED-NOT-FINITE",
       "the unfused computation in fp16 with the same accumulator is not finite on these inputs: "
       "the kernel is judged by its error alone",
       std::nullopt);
}

/// A reference measures others, so only what is not finite is incorrect. `why` it errs by more than
/// fp16 costs on inputs that suit it.
void warn_of_inputs(const std::string& why, CaseRecord& record) {
  if (why.empty()) return;
  warn(record, "W-REFERENCE-INACCURATE",
       why + ": these inputs do not suit fp16, or the reference is wrong", std::nullopt);
}

double rmse_of(const ErrorMetrics& error) { return error.rmse; }
double rmse_of(const GradientErrors& errors) {
  return std::max({errors.dq.rmse, errors.dk.rmse, errors.dv.rmse});
}

double want_rms_of(const ErrorMetrics& error) { return error.want_rms; }
double want_rms_of(const GradientErrors& errors) {
  return std::max({errors.dq.want_rms, errors.dk.want_rms, errors.dv.want_rms});
}

std::size_t nonfinite_of(const ErrorMetrics& error) { return error.nonfinite; }
std::size_t nonfinite_of(const GradientErrors& errors) {
  return errors.dq.nonfinite + errors.dk.nonfinite + errors.dv.nonfinite;
}

/// Of what is ok beside the unfused computation with its own accumulator alone.
template <class Errors>
void warn_over_unfused(const Errors& error, const Tolerance& tolerance, CaseRecord& record) {
  const std::optional<double> ratio = worst_error_over_unfused(record);
  if (!ratio || *ratio <= tolerance.ratio) return;
  if (rmse_of(error) <= kRoundingError * want_rms_of(error)) return;
  warn(record, kOverUnfusedWarning,
       fmt::format("as accurate as its accumulator allows, but the error is over {:g} times that "
                   "of the unfused computation with FP32 accumulators",
                   tolerance.ratio),
       ratio);
}

/// Why the errors are too large, empty when they are not. `unfused` are those of the unfused
/// computation with the same accumulator, `mask_in_doubt(why)` is why_mask_in_doubt() with a rule.
template <class Errors, class MaskInDoubt>
std::string judge(const Judged& judged, const Errors& error, const Errors& unfused,
                  const MaskInDoubt& mask_in_doubt, CaseRecord& record) {
  const bool is_reference = judged.contender.role() == Role::kReference;
  if (is_reference && nonfinite_of(error) == 0) {
    warn_of_inputs(why_incorrect(error, Errors{}, own_tolerance(error)), record);
    return "";
  }
  const bool has_measure = nonfinite_of(unfused) == 0;
  if (!has_measure && !is_reference) warn_that_unfused_overflows(record);
  const auto why = [&](const Errors& of) {
    return has_measure ? why_incorrect(of, unfused, judged.tolerance)
                       : why_incorrect(of, Errors{}, own_tolerance(of));
  };
  if (!has_own_mask(judged.contender) || !why(error).empty()) return why(error);
  return mask_in_doubt(why);
}

}  // namespace

std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record) {
  const Contender& contender = judged.contender;
  const ErrorMetrics error = error_metrics(outcome.rows, data.exact());
  const ErrorMetrics& same = data.unfused_error(
      contender.arithmetic(), contender.accumulator().value_or(Accumulator::kFp32));
  const ErrorMetrics& fp32 = data.unfused_error(contender.arithmetic(), Accumulator::kFp32);
  record.accuracy = make_accuracy("o", error, {same, fp32}, outcome.rows.o);
  if (error.nonfinite == 0) record.accuracy->lse_max_abs = error.lse_max_abs;
  record.accuracy->worst_index = worst_position(data.plan().rows, error, data.problem());
  add_mask_and_repeatability(data.dropout_mask(), outcome, *record.accuracy);
  const auto mask_in_doubt = [&](const auto& why) {
    return why_mask_in_doubt(data.problem(), data.inputs(), data.plan().rows, outcome.rows, why);
  };
  std::string why = judge(judged, error, same, mask_in_doubt, record);
  if (why.empty()) warn_over_unfused(error, judged.tolerance, record);
  return why;
}

std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record) {
  const Contender& contender = judged.contender;
  const HalfGradients& got = outcome.gradients;
  const GradientErrors error = gradient_errors(got, gradients.exact());
  const GradientErrors& same = gradients.unfused_errors(
      contender.arithmetic(), contender.accumulator().value_or(Accumulator::kFp32));
  const GradientErrors& fp32 = gradients.unfused_errors(contender.arithmetic(), Accumulator::kFp32);
  GradientAccuracy accuracy{make_accuracy("dq", error.dq, {same.dq, fp32.dq}, got.dq),
                            make_accuracy("dk", error.dk, {same.dk, fp32.dk}, got.dk),
                            make_accuracy("dv", error.dv, {same.dv, fp32.dv}, got.dv)};
  const GradientRows& rows = gradients.plan().rows;
  accuracy.dq.worst_index = worst_position(rows.dq, error.dq, data.problem());
  accuracy.dk.worst_index = worst_position(rows.dkv, error.dk, data.problem());
  accuracy.dv.worst_index = worst_position(rows.dkv, error.dv, data.problem());
  for (Accuracy* gradient : {&accuracy.dq, &accuracy.dk, &accuracy.dv}) {
    add_mask_and_repeatability(data.dropout_mask(), outcome, *gradient);
  }
  record.gradient_accuracy = std::move(accuracy);
  const auto mask_in_doubt = [&](const auto& why) {
    return why_mask_in_doubt(data.problem(), gradients.inputs(), rows, got, why);
  };
  std::string why = judge(judged, error, same, mask_in_doubt, record);
  if (why.empty()) warn_over_unfused(error, judged.tolerance, record);
  return why;
}

}  // namespace sparkbench
