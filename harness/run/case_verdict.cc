#include "harness/run/case_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "harness/run/outcome_record.h"
#include "reference/mask_check.h"

namespace sparkbench {
namespace {

/// The error allowed without a comparison, for fp16: three roundings of values up to the largest
/// |want|.
constexpr Tolerance own_tolerance(const ErrorMetrics& /*of*/) { return {0.0, 0x1p-8}; }

/// A chain of three more products and a softmax gradient, each rounded.
constexpr Tolerance own_tolerance(const GradientErrors& /*of*/) { return {0.0, 0x1p-7}; }

/// About the error of rounding a result, in units in the last place. Ratios to smaller errors are
/// meaningless.
constexpr double kRoundingError = 0.25;

/// A vendor's kernel may count a window's keys differently.
bool has_own_mask(const Candidate& candidate) {
  return candidate.kind() == CandidateKind::kVendorKernel;
}

/// Once per record; of two values keeps the larger.
void warn(CaseRecord& record, std::string_view code, std::string message,
          std::optional<double> value) {
  const auto known = std::find_if(record.warnings.begin(), record.warnings.end(),
                                  [&](const Warning& warning) { return warning.code == code; });
  if (known == record.warnings.end()) {
    record.warnings.push_back({std::string(code), std::move(message), value});
  } else if (known->value < value) {
    *known = {std::string(code), std::move(message), value};
  }
}

void warn_that_unfused_overflows(ElementType element, CaseRecord& record) {
  warn(record, "W-UNFUSED-NOT-FINITE",
       fmt::format("the unfused computation in {} with the same accumulator is not finite on these "
                   "inputs: the kernel is judged by its error alone",
                   name_of(element)),
       std::nullopt);
}

/// The baseline sets the scale for others, so it is incorrect only if not finite. `why`: its error
/// exceeds that of its type on suitable inputs.
void warn_of_inputs(const std::string& why, ElementType element, CaseRecord& record) {
  if (why.empty()) return;
  warn(record, "W-REFERENCE-INACCURATE",
       fmt::format("{}: these inputs do not suit {}, or the reference is wrong", why,
                   name_of(element)),
       std::nullopt);
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

/// Relative to the largest of the outputs that are judged together.
double rel_l2_of(const ErrorMetrics& error) { return error.rel_l2; }
double rel_l2_of(const GradientErrors& errors) {
  const double want_rms = want_rms_of(errors);
  return want_rms == 0.0 ? 0.0 : rmse_of(errors) / want_rms;
}

/// The error that a kernel may have.
struct Allowance {
  ElementType element;
  Tolerance beside_unfused;
  double of_sums = 0;  // explained by FP16 sums, if the kernel has them
};

template <class Errors>
void warn_that_unfused_errs(const Errors& unfused, const Allowance& allowance, CaseRecord& record) {
  const double error = rel_l2_of(unfused);
  if (error <= tolerance_in(allowance.element, {}).most) return;
  warn(record, "W-UNFUSED-INACCURATE",
       fmt::format("the unfused computation in {} with the same accumulator itself errs by {:.3g} "
                   "% on these inputs and measures nothing: a kernel may err by {:.3g} %",
                   name_of(allowance.element), 100 * error, 100 * allowance.beside_unfused.most),
       error);
}

/// For a result that is ok only relative to the unfused computation with its own accumulator.
template <class Errors>
void warn_over_unfused(const Errors& error, const Judged& judged, ElementType element,
                       CaseRecord& record) {
  const Tolerance& tolerance = judged.tolerance;
  const std::optional<double> ratio = worst_error_over_unfused(record);
  if (!ratio || *ratio <= tolerance.ratio) return;
  if (rmse_of(error) <= kRoundingError * unit_of(element) * want_rms_of(error)) return;
  warn(record, kOverUnfusedWarning,
       fmt::format("as accurate as its accumulator allows, but the error is over {:g} times that "
                   "of the unfused computation with FP32 accumulators",
                   tolerance.ratio),
       ratio);
}

/// Takes the larger value for each error that the rule reads.
void take_larger(const ErrorMetrics& other, ErrorMetrics& error) {
  for (double ErrorMetrics::*metric : {&ErrorMetrics::rel_l2, &ErrorMetrics::rmse,
                                       &ErrorMetrics::max_abs, &ErrorMetrics::lse_max_abs}) {
    error.*metric = std::max(error.*metric, other.*metric);
  }
}
void take_larger(const GradientErrors& other, GradientErrors& errors) {
  take_larger(other.dq, errors.dq);
  take_larger(other.dk, errors.dk);
  take_larger(other.dv, errors.dv);
}

/// In addition to the first (harness/run/README.md, "What an error may be").
constexpr unsigned kRoundingDraws = 8;

/// Why it is incorrect relative to the largest errors of the unfused computation over several draws
/// of its rounding errors. `in_draw(i)` gives its errors in one draw; `measure` starts with the
/// usual one.
template <class Errors, class InDraw>
std::string why_wrong_in_any_draw(const Tolerance& tolerance, const Errors& error,
                                  const InDraw& in_draw, Errors& measure, CaseRecord& record) {
  std::string why = why_incorrect(error, measure, tolerance);
  if (why.empty() || nonfinite_of(error) != 0) return why;
  for (unsigned draw = 1; draw <= kRoundingDraws && !why.empty(); ++draw) {
    const Errors& other = in_draw(draw);
    if (nonfinite_of(other) != 0) continue;
    take_larger(other, measure);
    why = why_incorrect(error, measure, tolerance);
  }
  if (!why.empty()) return why;
  warn(record, "W-ROUNDING-BY-CHANCE",
       "the error is over what the unfused computation allows with its sums in their usual order, "
       "and not over what it allows with other rounding errors of the same size",
       std::nullopt);
  return "";
}

/// The standard deviation of the rounding errors of FP16 sums, relative to the output
/// (harness/run/README.md, "What an error may be").
double deviation_of_fp16_sums(const Problem& problem, double largest_score) {
  const double of_rounding = 0x1p-10 / std::sqrt(12.0);
  const double rounds_of_score = std::ceil(problem.head_dim / 4.0);
  const double rounds_of_output = std::ceil(std::max(problem.seqlen_q, problem.seqlen_k) / 4.0);
  return of_rounding *
         std::sqrt(largest_score * largest_score * rounds_of_score + rounds_of_output);
}

double largest_finite(std::span<const float> lse) {
  float largest = 0;
  for (const float value : lse) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

Allowance allowance_of(const Judged& judged, const ProblemData& data, double largest_score) {
  const Problem& problem = data.problem();
  Allowance allowance{data.element(), judged.tolerance};
  if (judged.candidate.accumulator() != Accumulator::kFp16) return allowance;
  const double deviation = deviation_of_fp16_sums(problem, largest_score);
  allowance.of_sums = std::min(2 * deviation, 0x1p-3);
  Tolerance& tolerance = allowance.beside_unfused;
  tolerance.floor = std::max(tolerance.floor, std::min(deviation / 4, 0x1p-9));
  tolerance.most = std::max(tolerance.most, allowance.of_sums);
  return allowance;
}

/// Why the errors are too large; empty if they are not. `unfused(draw)` gives the errors of the
/// unfused computation with the same accumulator; `mask_in_doubt(why)` is why_mask_in_doubt() with
/// a rule.
template <class Errors, class Unfused, class MaskInDoubt>
std::string judge(const Candidate& candidate, const Allowance& allowance, const Errors& error,
                  const Unfused& unfused, const MaskInDoubt& mask_in_doubt, CaseRecord& record) {
  const Tolerance& tolerance = allowance.beside_unfused;
  Tolerance own = tolerance_in(allowance.element, own_tolerance(error));
  const bool is_reference = candidate.role() == Role::kReference;
  if (is_reference && nonfinite_of(error) == 0) {
    warn_of_inputs(why_incorrect(error, Errors{}, own), allowance.element, record);
    return "";
  }
  own.floor = std::max(own.floor, allowance.of_sums);
  Errors measure = unfused(0);
  const bool has_measure = nonfinite_of(measure) == 0;
  if (!has_measure && !is_reference) warn_that_unfused_overflows(allowance.element, record);
  if (has_measure && !is_reference) warn_that_unfused_errs(measure, allowance, record);
  std::string wrong = has_measure
                          ? why_wrong_in_any_draw(tolerance, error, unfused, measure, record)
                          : why_incorrect(error, Errors{}, own);
  if (!has_own_mask(candidate) || !wrong.empty()) return wrong;
  return mask_in_doubt([&](const Errors& of) {
    return has_measure ? why_incorrect(of, measure, tolerance) : why_incorrect(of, Errors{}, own);
  });
}

/// An error of O, judged as an output, must not count against the gradients computed from it.
void allow_a_unit_of_o(const GradientErrors& of_a_unit, GradientErrors& error) {
  for (ErrorMetrics GradientErrors::*gradient :
       {&GradientErrors::dq, &GradientErrors::dk, &GradientErrors::dv}) {
    (error.*gradient).given_rms = (of_a_unit.*gradient).rmse;
    (error.*gradient).given_max = (of_a_unit.*gradient).max_abs;
  }
}

/// For an unfused computation with the candidate's accumulator.
TensorCores same_cores(const Candidate& candidate, ElementType element, unsigned draw) {
  return {candidate.arithmetic(), candidate.accumulator().value_or(Accumulator::kFp32), draw,
          element};
}

/// The same rows with the exact LSE, for a kernel that writes none.
ForwardRows with_exact_lse(ForwardRows rows, ProblemData& data) {
  const ExactRows& exact = data.exact();
  rows.lse.assign(exact.lse.begin(), exact.lse.end());
  return rows;
}

}  // namespace

std::string judge_outputs(const Judged& judged, ProblemData& data, GradientData* gradients,
                          const RunOutcome& outcome, CaseRecord& record) {
  const bool has_forward = gradients == nullptr || !outcome.rows.lse.empty();
  std::string of_o = has_forward ? judge_forward(judged, data, outcome, record) : "";
  if (gradients == nullptr) return of_o;
  const std::string of_gradients = judge_backward(judged, data, *gradients, outcome, record);
  if (of_o.empty() || of_gradients.empty()) return of_o.empty() ? of_gradients : "o: " + of_o;
  return fmt::format("o: {}; {}", of_o, of_gradients);
}

std::string judge_forward(const Judged& judged, ProblemData& data, const RunOutcome& outcome,
                          CaseRecord& record) {
  const Candidate& candidate = judged.candidate;
  const ElementType element = data.element();
  const bool has_lse = candidate.writes_lse() && outcome.has_lse;
  const ForwardRows with_lse = has_lse ? ForwardRows() : with_exact_lse(outcome.rows, data);
  const ForwardRows& rows = has_lse ? outcome.rows : with_lse;
  const auto of_o_alone = [&](ErrorMetrics of) {
    if (!has_lse) of.lse_max_abs = 0;
    return of;
  };
  const ErrorMetrics error = of_o_alone(data.error_of(rows));
  const auto unfused = [&](unsigned draw) -> const ErrorMetrics& {
    return data.unfused_error(same_cores(candidate, element, draw));
  };
  const ErrorMetrics& fp32 =
      data.unfused_error({candidate.arithmetic(), Accumulator::kFp32, 0, element});
  record.accuracy = make_accuracy("o", error, {unfused(0), fp32}, outcome.rows.o);
  if (!has_lse) {
    warn(record, kNoLseWarning, "the kernel writes no LSE: only its other outputs are verified",
         std::nullopt);
  } else if (error.nonfinite == 0) {
    record.accuracy->lse_max_abs = error.lse_max_abs;
  }
  record.accuracy->worst_index = worst_position(data.plan().rows, error, data.problem());
  add_rows(data.plan().rows, data.plan().weights, error, *record.accuracy);
  add_mask_and_repeatability(data.dropout_mask(), outcome, *record.accuracy);
  const auto mask_in_doubt = [&](const auto& why) {
    return why_mask_in_doubt(
        data.problem(), data.inputs(), data.plan().rows, rows,
        [&](const ErrorMetrics& of) { return why(of_o_alone(of)); }, element);
  };
  const Allowance allowance = allowance_of(judged, data, error.lse_want_max_abs);
  std::string why = judge(candidate, allowance, error, unfused, mask_in_doubt, record);
  if (why.empty()) warn_over_unfused(error, judged, element, record);
  return why;
}

std::string judge_backward(const Judged& judged, ProblemData& data, GradientData& gradients,
                           const RunOutcome& outcome, CaseRecord& record) {
  const Candidate& candidate = judged.candidate;
  const ElementType element = data.element();
  const HalfGradients& got = outcome.gradients;
  GradientErrors error = gradients.errors_of(got);
  const auto after =
      record.accuracy ? GradientData::After::kOwnForward : GradientData::After::kNothing;
  const auto unfused = [&](unsigned draw) -> const GradientErrors& {
    return gradients.unfused_errors(same_cores(candidate, element, draw), after);
  };
  const GradientErrors& same = unfused(0);
  const GradientErrors& fp32 =
      gradients.unfused_errors({candidate.arithmetic(), Accumulator::kFp32, 0, element}, after);
  GradientAccuracy accuracy{make_accuracy("dq", error.dq, {same.dq, fp32.dq}, got.dq),
                            make_accuracy("dk", error.dk, {same.dk, fp32.dk}, got.dk),
                            make_accuracy("dv", error.dv, {same.dv, fp32.dv}, got.dv),
                            std::exchange(record.accuracy, std::nullopt)};
  const GradientRows& rows = gradients.plan().rows;
  accuracy.dq.worst_index = worst_position(rows.dq, error.dq, data.problem());
  accuracy.dk.worst_index = worst_position(rows.dkv, error.dk, data.problem());
  accuracy.dv.worst_index = worst_position(rows.dkv, error.dv, data.problem());
  const GradientPlan& plan = gradients.plan();
  add_rows(rows.dq, plan.dq_weights, error.dq, accuracy.dq);
  add_rows(rows.dkv, plan.dkv_weights, error.dk, accuracy.dk);
  add_rows(rows.dkv, plan.dkv_weights, error.dv, accuracy.dv);
  for (Accuracy* gradient : {&accuracy.dq, &accuracy.dk, &accuracy.dv}) {
    add_mask_and_repeatability(data.dropout_mask(), outcome, *gradient);
  }
  record.gradient_accuracy = std::move(accuracy);
  const auto mask_in_doubt = [&](const auto& why) {
    return why_mask_in_doubt(data.problem(), gradients.inputs(), rows, got, why, element);
  };
  if (after == GradientData::After::kOwnForward &&
      !why_incorrect(error, same, judged.tolerance).empty()) {
    allow_a_unit_of_o(gradients.errors_of_a_unit(), error);
  }
  const double largest_score = largest_finite(gradients.inputs().lse);
  const Allowance allowance = allowance_of(judged, data, largest_score);
  std::string why = judge(candidate, allowance, error, unfused, mask_in_doubt, record);
  if (why.empty()) warn_over_unfused(error, judged, element, record);
  return why;
}

}  // namespace sparkbench
