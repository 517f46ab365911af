#include "results/study/accuracy_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/accuracy_breaks.h"
#include "results/study/accuracy_study.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr std::string_view kNothingToCompare = "Nothing to compare: no fused kernel was verified.";

/// A recommendation warns above this error, in units in the last place of 1: the most that a chain
/// of roundings costs a gradient.
constexpr double kDoubtfulUnits = 8;

constexpr int kNever = std::numeric_limits<int>::max();

bool is_fused(const StudiedKernel& kernel) { return kernel.role == Role::kFused; }

const StudiedKernel* find_kernel(const AccuracyStudy& study, const std::string& name) {
  const auto found = std::find_if(study.kernels.begin(), study.kernels.end(),
                                  [&](const StudiedKernel& kernel) { return kernel.name == name; });
  return found == study.kernels.end() ? nullptr : &*found;
}

std::vector<double> rel_l1_of(const StudiedKernel& kernel) {
  std::vector<double> errors;
  for (const CaseRecord& record : kernel.cases) errors.push_back(record.accuracy->rel_l1);
  return errors;
}

void append_ratios(const StudiedKernel& kernel, std::vector<double>& ratios) {
  for (const CaseRecord& record : kernel.cases) {
    // With one key both outputs are exact, and 0 / 0 is meaningless.
    const double ratio = record.accuracy->error_over_unfused.value_or(0.0);
    if (ratio != 0.0) ratios.push_back(ratio);
  }
}

std::string percent(double rel_l1) { return significant(100.0 * rel_l1, 2) + " %"; }

/// How many of a kernel's verified cases in the study are incorrect.
struct Refusal {
  int incorrect = 0, verified = 0;
};

Refusal refusal_of(const RunRecord& run, const AccuracyStudy& study, const std::string& kernel) {
  Refusal refusal;
  for (const CaseRecord& record : run.cases) {
    if (record.kernel != kernel || !is_of_study(study, record.problem)) continue;
    refusal.incorrect += record.status == Status::kIncorrect;
    refusal.verified += record.status == Status::kIncorrect || !accuracies_of(record).empty();
  }
  return refusal;
}

/// A fused kernel's error compared with that of the unfused computation with FP32 accumulators.
struct Comparison {
  std::string kernel;
  double ratio = 0.0;
};

std::string compare(const std::vector<Comparison>& comparisons, std::size_t problems) {
  std::string text;
  for (const Comparison& each : comparisons) {
    text += text.empty() ? fmt::format("The error of {} is ", each.kernel)
                         : fmt::format(", that of {} ", each.kernel);
    text += fmt::format("{}x", significant(each.ratio, 2));
  }
  return text + fmt::format(
                    " that of the unfused computation (rel_l2, FP32 accumulators, geometric mean "
                    "of {} problem{}).",
                    problems, problems == 1 ? "" : "s");
}

std::string advise(const RunRecord& run, const AccuracyStudy& study) {
  std::string refusals;
  std::vector<Comparison> comparisons;
  for (const StudiedKernel& kernel : study.kernels) {
    if (!is_fused(kernel)) continue;
    if (const Refusal refusal = refusal_of(run, study, kernel.name); refusal.incorrect > 0) {
      refusals += fmt::format("Do not use {}: {} of its {} verified cases are incorrect. ",
                              kernel.name, refusal.incorrect, refusal.verified);
      continue;
    }
    std::vector<double> ratios;
    append_ratios(kernel, ratios);
    if (const auto mean = geometric_mean(ratios)) comparisons.push_back({kernel.name, *mean});
  }
  if (comparisons.empty()) return refusals + "No kernel's error can be compared in these cases.";
  std::stable_sort(comparisons.begin(), comparisons.end(),
                   [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
  return refusals + compare(comparisons, study.kernels.front().cases.size());
}

/// A kernel that is correct in every study.
struct Candidate {
  std::string kernel;
  double mean_rel_l1 = 0.0, most_rel_l1 = 0.0;
  bool has_all_rows = true;              // in all cases
  std::optional<double> ratio;           // geometric mean of error_over_unfused
  std::vector<std::string> largest;      // rel_l1 of each output
  std::optional<int> overflows_at;       // the least tested input_scale
  std::optional<std::string> overflows;  // the input for that scale
};

void add_study(const RunRecord& run, const AccuracyStudy& study, const StudiedKernel& kernel,
               const std::string& label, std::vector<double>& errors, std::vector<double>& ratios,
               Candidate& candidate) {
  const std::vector<double> rel_l1 = rel_l1_of(kernel);
  errors.insert(errors.end(), rel_l1.begin(), rel_l1.end());
  append_ratios(kernel, ratios);
  const double most = largest(rel_l1).value_or(0.0);
  candidate.most_rel_l1 = std::max(candidate.most_rel_l1, most);
  candidate.largest.push_back(fmt::format("{} ({})", percent(most), label));
  for (const CaseRecord& record : kernel.cases) {
    candidate.has_all_rows = candidate.has_all_rows && has_all_rows_checked(record);
    const AccuracyBreak broken = find_break(run, study, kernel.name, record.problem.head_dim);
    if (!broken.not_finite || broken.not_finite >= candidate.overflows_at.value_or(kNever))
      continue;
    candidate.overflows_at = broken.not_finite;
    candidate.overflows = study.input;
  }
}

/// "dq", with the input if there are several.
std::string label_of(const AccuracyStudy& study, const std::vector<AccuracyStudy>& studies) {
  const bool are_alike =
      std::all_of(studies.begin(), studies.end(),
                  [&](const AccuracyStudy& other) { return other.input == study.input; });
  return are_alike ? study.output : fmt::format("{}, {}", study.output, study.input.value_or(""));
}

/// None for a kernel that is missing from a study, or incorrect in one.
std::optional<Candidate> candidate_of(const RunRecord& run,
                                      const std::vector<AccuracyStudy>& studies,
                                      const std::string& kernel) {
  Candidate candidate;
  candidate.kernel = kernel;
  std::vector<double> errors, ratios;
  for (const AccuracyStudy& study : studies) {
    const StudiedKernel* studied = find_kernel(study, kernel);
    if (studied == nullptr || studied->cases.empty()) return std::nullopt;
    if (refusal_of(run, study, kernel).incorrect > 0) return std::nullopt;
    add_study(run, study, *studied, label_of(study, studies), errors, ratios, candidate);
  }
  for (const double error : errors) candidate.mean_rel_l1 += error;
  candidate.mean_rel_l1 /= static_cast<double>(errors.size());
  candidate.ratio = geometric_mean(ratios);
  return candidate;
}

int verified_cases(const RunRecord& run, const std::string& kernel) {
  return static_cast<int>(
      std::count_if(run.cases.begin(), run.cases.end(), [&](const CaseRecord& record) {
        return record.kernel == kernel && !accuracies_of(record).empty();
      }));
}

std::string overflow_text(const RunRecord& run, const Candidate& best) {
  if (best.overflows_at) {
    return fmt::format("overflows from input_scale {} on{}", *best.overflows_at,
                       best.overflows ? fmt::format(" ({})", *best.overflows) : "");
  }
  const int cases = verified_cases(run, best.kernel);
  return cases == 1 ? "does not overflow" : fmt::format("overflows in none of its {} cases", cases);
}

std::string text_of(const RunRecord& run, const Candidate& best) {
  const std::string beside =
      best.ratio ? fmt::format("{}x the unfused computation's error", significant(*best.ratio, 2))
                 : "the unfused computation gives no measure here";
  const ElementType element = run.cases.front().problem.element;
  const std::string doubt =
      best.most_rel_l1 > kDoubtfulUnits * unit_of(element)
          ? fmt::format(", if any, for these inputs do not suit {}", name_of(element))
          : "";
  return fmt::format("Use {}{}: {}, rel_l1 {} {}; {}.", best.kernel, doubt, beside,
                     best.has_all_rows ? "at most" : "up to about", fmt::join(best.largest, ", "),
                     overflow_text(run, best));
}

}  // namespace

std::string format_accuracy_advice(const RunRecord& run) {
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  if (kernels_of(run.cases, Role::kFused).empty() || studies.empty()) {
    return std::string(kNothingToCompare);
  }
  if (studies.size() == 1) return advise(run, studies.front());
  std::string text;
  for (const AccuracyStudy& study : studies) {
    text += fmt::format("{}{}, pass {}{}: {}", text.empty() ? "" : "\n", study.output,
                        name_of(study.pass), study.input ? ", input " + *study.input : "",
                        advise(run, study));
  }
  return text;
}

std::string format_recommendation(const RunRecord& run) {
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  const std::vector<std::string> kernels = kernels_of(run.cases, Role::kFused);
  if (studies.empty() || kernels.empty()) return "Use none: no fused kernel was verified.";
  std::vector<Candidate> candidates;
  for (const std::string& kernel : kernels) {
    if (auto candidate = candidate_of(run, studies, kernel)) {
      candidates.push_back(std::move(*candidate));
    }
  }
  if (candidates.empty()) {
    return fmt::format("Use none of {}: none was verified and found correct in every study.",
                       fmt::join(kernels, ", "));
  }
  return text_of(run, *std::min_element(candidates.begin(), candidates.end(),
                                        [](const Candidate& a, const Candidate& b) {
                                          return a.mean_rel_l1 < b.mean_rel_l1;
                                        }));
}

}  // namespace sparkbench
