#include "results/study/kernel_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "results/record/case_id.h"

namespace sparkbench {
namespace {

bool is_verified(const CaseRecord& record, const std::string& kernel) {
  return record.kernel == kernel && record.status == Status::kOk && worst_rel_l1(record);
}

}  // namespace

std::optional<double> geometric_mean(const std::vector<double>& values) {
  double log_sum = 0.0;
  for (const double value : values) {
    if (!(value > 0.0 && std::isfinite(value))) return std::nullopt;
    log_sum += std::log(value);
  }
  if (values.empty()) return std::nullopt;
  return std::exp(log_sum / static_cast<double>(values.size()));
}

std::optional<double> largest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end(), [](double a, double b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
  });
}

std::optional<double> worst_rel_l1(const CaseRecord& record) {
  std::vector<double> errors;
  for (const Accuracy* accuracy : accuracies_of(record)) errors.push_back(accuracy->rel_l1);
  return largest(errors);
}

std::vector<std::string> kernels_of(const std::vector<CaseRecord>& cases, Role role) {
  std::vector<std::string> kernels;
  for (const CaseRecord& record : cases) {
    if (record.role != role) continue;
    if (std::find(kernels.begin(), kernels.end(), record.kernel) == kernels.end()) {
      kernels.push_back(record.kernel);
    }
  }
  return kernels;
}

std::optional<SpeedupMean> mean_speedup(const std::vector<CaseRecord>& cases,
                                        const std::string& kernel) {
  SpeedupMean mean;
  std::vector<double> ratios;
  double relative_variance_sum = 0.0;
  bool has_stdev = true;
  for (const CaseRecord& record : cases) {
    if (record.kernel != kernel || record.status != Status::kOk || !record.valid) continue;
    if (!record.speedup) continue;
    mean.over = record.speedup->over;
    ratios.push_back(record.speedup->ratio);
    has_stdev = has_stdev && record.speedup->ratio_stdev.has_value();
    const double relative = record.speedup->ratio_stdev.value_or(0.0) / record.speedup->ratio;
    relative_variance_sum += relative * relative;
  }
  const std::optional<double> ratio = geometric_mean(ratios);
  if (!ratio) return std::nullopt;
  mean.ratio = *ratio;
  mean.count = static_cast<int>(ratios.size());
  // The logarithm of the mean is the mean of the logarithms, whose deviations are the relative
  // ones.
  if (has_stdev) mean.stdev = *ratio * std::sqrt(relative_variance_sum) / mean.count;
  return mean;
}

std::optional<ErrorMean> mean_error(const std::vector<CaseRecord>& cases,
                                    const std::string& kernel) {
  const auto is_baseline = [](const CaseRecord& record) {
    return record.role == Role::kReference && record.accumulator && worst_rel_l1(record);
  };
  const auto baseline = std::find_if(cases.begin(), cases.end(), is_baseline);
  if (baseline == cases.end()) return std::nullopt;
  std::map<std::string, double> baseline_error;
  for (const CaseRecord& record : cases) {
    const std::optional<double> error = worst_rel_l1(record);
    if (record.kernel == baseline->kernel && error) {
      baseline_error[make_problem_key(record.problem)] = *error;
    }
  }
  std::vector<double> ratios;
  for (const CaseRecord& record : cases) {
    if (!is_verified(record, kernel)) continue;
    const auto found = baseline_error.find(make_problem_key(record.problem));
    // One key gives an exact O on both sides: 0 / 0 says nothing.
    if (found == baseline_error.end() || found->second == 0.0) continue;
    ratios.push_back(*worst_rel_l1(record) / found->second);
  }
  const std::optional<double> ratio = geometric_mean(ratios);
  if (!ratio) return std::nullopt;
  return ErrorMean{baseline->kernel, *ratio, static_cast<int>(ratios.size())};
}

std::optional<double> mean_error_ratio(const std::vector<CaseRecord>& cases,
                                       const std::string& kernel) {
  std::vector<double> ratios;
  for (const CaseRecord& record : cases) {
    if (!is_verified(record, kernel)) continue;
    for (const Accuracy* accuracy : accuracies_of(record)) {
      const double ratio = accuracy->error_ratio.value_or(0.0);
      if (ratio != 0.0) ratios.push_back(ratio);
    }
  }
  return geometric_mean(ratios);
}

}  // namespace sparkbench
