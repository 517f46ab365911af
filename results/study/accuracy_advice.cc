#include "results/study/accuracy_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/accuracy_study.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr std::string_view kNothingToCompare =
    "Nothing to compare with: no reference was verified.";

/// A fused kernel's error as a multiple of the reference's.
struct Verdict {
  std::string kernel;
  double ratio = 0.0;         // geometric mean of rel_l1 / the reference's rel_l1
  double worst_rel_l1 = 0.0;  // of any problem
  std::size_t problems = 0;
};

/// None when the two share no problem, or an error is not a number.
std::optional<Verdict> judge(const StudiedKernel& kernel, const StudiedKernel& reference) {
  Verdict verdict;
  verdict.kernel = kernel.name;
  verdict.problems = kernel.cases.size();
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kernel.cases.size(); ++i) {
    const double rel_l1 = kernel.cases[i].accuracy->rel_l1;
    const double reference_rel_l1 = reference.cases[i].accuracy->rel_l1;
    verdict.worst_rel_l1 = std::max(verdict.worst_rel_l1, rel_l1);
    // One key gives an exact output on both sides: 0 / 0 says nothing.
    if (rel_l1 != 0.0 || reference_rel_l1 != 0.0) ratios.push_back(rel_l1 / reference_rel_l1);
  }
  const std::optional<double> mean = geometric_mean(ratios);
  if (!mean) return std::nullopt;
  verdict.ratio = *mean;
  return verdict;
}

/// "" when every verified case of `kernel` in the study is correct.
std::string refusal(const RunRecord& run, const AccuracyStudy& study, const std::string& kernel) {
  int verified = 0, incorrect = 0;
  for (const CaseRecord& record : run.cases) {
    if (record.kernel != kernel || !is_of_study(study, record.problem)) continue;
    incorrect += record.status == Status::kIncorrect;
    verified += record.status == Status::kIncorrect || worst_rel_l1(record).has_value();
  }
  if (incorrect == 0) return "";
  return fmt::format("Do not use {}: {} of its {} verified cases are incorrect. ", kernel,
                     incorrect, verified);
}

std::string comparison(const std::vector<Verdict>& verdicts, const std::string& reference) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += text.empty() ? fmt::format("The error of {} is ", verdict.kernel)
                         : fmt::format(", that of {} ", verdict.kernel);
    text += fmt::format("{}x", significant(verdict.ratio, 2));
  }
  return text + fmt::format(" that of {} (rel_l1, geometric mean of {} problems). ", reference,
                            verdicts.front().problems);
}

std::string recommendation(const std::vector<Verdict>& verdicts, const std::string& reference) {
  const Verdict& best = verdicts.front();
  std::string text = fmt::format("Use {}: ", best.kernel);
  text +=
      best.ratio <= 1.0
          ? fmt::format("it is at least as accurate as {}, which it replaces.", reference)
          : fmt::format("no fused kernel is as accurate as {}, and it comes nearest.", reference);
  for (std::size_t i = 1; i < verdicts.size(); ++i) {
    const Verdict& other = verdicts[i];
    text += other.ratio <= 1.0
                ? fmt::format(" {} is no worse than {} either: take the faster.", other.kernel,
                              reference)
                : fmt::format(
                      " Take {} only where it is faster and an error of up to {} % of the "
                      "output's size (its largest rel_l1) does no harm.",
                      other.kernel, significant(100.0 * other.worst_rel_l1, 2));
  }
  return text;
}

std::string advise(const RunRecord& run, const AccuracyStudy& study) {
  const std::vector<StudiedKernel>& kernels = study.kernels;
  const auto reference =
      std::find_if(kernels.begin(), kernels.end(),
                   [](const StudiedKernel& kernel) { return kernel.role == Role::kReference; });
  if (reference == kernels.end()) return std::string(kNothingToCompare);
  std::string refusals;
  std::vector<Verdict> verdicts;
  for (auto kernel = kernels.begin(); kernel != reference; ++kernel) {
    const std::string refused = refusal(run, study, kernel->name);
    refusals += refused;
    auto verdict = judge(*kernel, *reference);
    if (refused.empty() && verdict) verdicts.push_back(std::move(*verdict));
  }
  if (verdicts.empty()) return refusals + "No fused kernel can be recommended from these cases.";
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const Verdict& a, const Verdict& b) { return a.ratio < b.ratio; });
  return refusals + comparison(verdicts, reference->name) +
         recommendation(verdicts, reference->name);
}

}  // namespace

std::string format_accuracy_advice(const RunRecord& run) {
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  if (studies.empty()) return std::string(kNothingToCompare);
  if (studies.size() == 1) return advise(run, studies.front());
  std::string text;
  for (const AccuracyStudy& study : studies) {
    text += fmt::format("{}{}, pass {}{}: {}", text.empty() ? "" : "\n", study.output,
                        name_of(study.pass), study.input ? ", input " + *study.input : "",
                        advise(run, study));
  }
  return text;
}

}  // namespace sparkbench
