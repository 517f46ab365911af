#include "results/record/case_record.h"

#include <algorithm>
#include <limits>

namespace sparkbench {
namespace {

void bring_up_to_date(const std::optional<Accumulator>& accumulator, Accuracy& accuracy) {
  if (accuracy.nonfinite != 0) {
    for (double Accuracy::*metric :
         {&Accuracy::max_abs, &Accuracy::mean_abs, &Accuracy::rmse, &Accuracy::rel_l1,
          &Accuracy::rel_l2, &Accuracy::mean_rel, &Accuracy::max_rel, &Accuracy::cosine_diff}) {
      accuracy.*metric = std::numeric_limits<double>::quiet_NaN();
    }
    accuracy.error_ratio.reset();
    accuracy.error_over_unfused.reset();
    accuracy.lse_max_abs.reset();
    accuracy.worst_row_rel_l1.reset();
  } else if (!accuracy.error_over_unfused && accumulator != Accumulator::kFp16) {
    accuracy.error_over_unfused = accuracy.error_ratio;
  }
}

}  // namespace

std::vector<const Accuracy*> accuracies_of(const CaseRecord& record) {
  if (record.accuracy) return {&*record.accuracy};
  if (!record.gradient_accuracy) return {};
  const GradientAccuracy& gradients = *record.gradient_accuracy;
  std::vector<const Accuracy*> accuracies = {&gradients.dq, &gradients.dk, &gradients.dv};
  if (gradients.o) accuracies.insert(accuracies.begin(), &*gradients.o);
  return accuracies;
}

bool has_all_rows_checked(const CaseRecord& record) {
  if (record.layer) return find_warning(record, "W-SAMPLED-ROWS") == nullptr;
  const CaseProblem& problem = record.problem;
  const auto elements_of = [&](bool are_keys) {
    const auto& total = are_keys ? problem.total_k : problem.total_q;
    const std::uint64_t alike =
        static_cast<std::uint64_t>(problem.batch) *
        static_cast<std::uint64_t>(are_keys ? problem.seqlen_k : problem.seqlen_q);
    const int heads = are_keys ? problem.key_heads() : problem.heads;
    return (total ? static_cast<std::uint64_t>(*total) : alike) *
           static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(problem.head_dim);
  };
  const auto accuracies = accuracies_of(record);
  return !accuracies.empty() &&
         std::all_of(accuracies.begin(), accuracies.end(), [&](const Accuracy* accuracy) {
           const bool are_keys = accuracy->output == "dk" || accuracy->output == "dv";
           return accuracy->checked_elements >= elements_of(are_keys);
         });
}

std::optional<double> worst_error_over_unfused(const CaseRecord& record) {
  std::optional<double> worst;
  for (const Accuracy* accuracy : accuracies_of(record)) {
    if (!accuracy->error_over_unfused) return std::nullopt;
    worst = std::max(worst.value_or(0.0), *accuracy->error_over_unfused);
  }
  return worst;
}

const Warning* find_warning(const CaseRecord& record, std::string_view code) {
  const auto found = std::find_if(record.warnings.begin(), record.warnings.end(),
                                  [&](const Warning& warning) { return warning.code == code; });
  return found == record.warnings.end() ? nullptr : &*found;
}

void bring_up_to_date(CaseRecord& record) {
  if (record.accuracy) bring_up_to_date(record.accumulator, *record.accuracy);
  if (!record.gradient_accuracy) return;
  for (Accuracy GradientAccuracy::*gradient :
       {&GradientAccuracy::dq, &GradientAccuracy::dk, &GradientAccuracy::dv}) {
    bring_up_to_date(record.accumulator, (*record.gradient_accuracy).*gradient);
  }
}

const Accuracy* find_accuracy(const CaseRecord& record, std::string_view output) {
  for (const Accuracy* accuracy : accuracies_of(record)) {
    if (accuracy->output == output) return accuracy;
  }
  return nullptr;
}

}  // namespace sparkbench
