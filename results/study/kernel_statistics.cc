#include "results/study/kernel_statistics.h"

#include <algorithm>
#include <cmath>

namespace sparkbench {

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

std::optional<LayerErrorMean> mean_layer_error(const std::vector<CaseRecord>& cases,
                                               const std::string& kernel) {
  LayerErrorMean mean;
  std::vector<double> ratios;
  for (const CaseRecord& record : cases) {
    if (record.kernel != kernel || record.status != Status::kOk || !record.layer) continue;
    for (const LayerError& error : record.layer->errors) {
      const double ratio = error.over_unfused.value_or(0.0);
      mean.most = std::max(mean.most, ratio);
      if (error.of == "mha" && ratio != 0.0) ratios.push_back(ratio);
    }
  }
  const std::optional<double> attention = geometric_mean(ratios);
  if (!attention) return std::nullopt;
  mean.attention = *attention;
  return mean;
}

std::optional<ErrorMean> mean_error_over_unfused(const std::vector<CaseRecord>& cases,
                                                 const std::string& kernel) {
  ErrorMean mean;
  std::vector<double> ratios;
  for (const CaseRecord& record : cases) {
    if (record.kernel != kernel || record.status != Status::kOk) continue;
    if (accuracies_of(record).empty()) continue;
    const std::optional<double> ratio = worst_error_over_unfused(record);
    if (!ratio) ++mean.without;
    // With one key O is exact; an error of 0 has no information.
    if (ratio && *ratio != 0.0) ratios.push_back(*ratio);
  }
  const std::optional<double> ratio = geometric_mean(ratios);
  if (!ratio) return std::nullopt;
  mean.ratio = *ratio;
  mean.count = static_cast<int>(ratios.size());
  return mean;
}

}  // namespace sparkbench
