#include "results/accuracy_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "results/accuracy_study.h"
#include "results/kernel_statistics.h"
#include "results/number_format.h"

namespace sparkbench {
namespace {

using Values = std::vector<double>;
using Average = std::optional<double> (*)(const Values&);
using Format = std::string (*)(double value, int digits);

struct MetricRule {
  std::string_view title;
  std::function<std::optional<double>(const Accuracy&)> value;
  Average average;
  Format format;
};

std::optional<double> arithmetic_mean(const Values& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> largest(const Values& values) {
  if (values.empty()) return std::nullopt;
  // A NaN is the largest error there is.
  const auto is_nan = [](double value) { return std::isnan(value); };
  const auto nan = std::find_if(values.begin(), values.end(), is_nan);
  return nan != values.end() ? *nan : *std::max_element(values.begin(), values.end());
}

std::vector<MetricRule> metric_rules() {
  return {
      {"rel_l1 %", [](const Accuracy& a) { return 100.0 * a.rel_l1; }, arithmetic_mean,
       significant},
      {"rel_l2", [](const Accuracy& a) { return a.rel_l2; }, arithmetic_mean, scientific},
      {"mean_rel %", [](const Accuracy& a) { return 100.0 * a.mean_rel; }, arithmetic_mean,
       significant},
      {"mean_abs", [](const Accuracy& a) { return a.mean_abs; }, arithmetic_mean, scientific},
      {"max_abs", [](const Accuracy& a) { return a.max_abs; }, largest, scientific},
      {"lse_max_abs", [](const Accuracy& a) { return a.lse_max_abs; }, largest, scientific},
      {"error_ratio", [](const Accuracy& a) { return a.error_ratio; }, geometric_mean, significant},
  };
}

Values values_of(const StudiedKernel& kernel, const MetricRule& metric, int head_dim) {
  Values values;
  for (const CaseRecord& record : kernel.cases) {
    if (record.problem.head_dim != head_dim) continue;
    const std::optional<double> value = metric.value(*record.accuracy);
    if (value) values.push_back(*value);
  }
  return values;
}

std::set<int> head_dims_of(const std::vector<StudiedKernel>& kernels) {
  std::set<int> head_dims;
  for (const StudiedKernel& kernel : kernels) {
    for (const CaseRecord& record : kernel.cases) head_dims.insert(record.problem.head_dim);
  }
  return head_dims;
}

std::string legend(const std::vector<StudiedKernel>& kernels) {
  std::string text = fmt::format("Errors on {} problems", kernels.front().cases.size());
  for (const StudiedKernel& kernel : kernels) {
    if (kernel.title != kernel.name) text += fmt::format(", {} is {}", kernel.title, kernel.name);
  }
  return text +
         ";\nerror_ratio is rel_l2 over the unfused computation's with the same accumulator\n\n";
}

}  // namespace

std::string format_accuracy_table(const RunRecord& run, TableStyle style) {
  const std::vector<StudiedKernel> kernels = study_accuracy(run);
  if (kernels.empty()) return "";
  std::vector<TextColumn> columns = {{"metric", {}, false}, {"head_dim", {}, true}};
  for (const StudiedKernel& kernel : kernels) columns.push_back({kernel.title, {}, true});
  for (const MetricRule& metric : metric_rules()) {
    for (const int head_dim : head_dims_of(kernels)) {
      columns[0].cells.emplace_back(metric.title);
      columns[1].cells.push_back(std::to_string(head_dim));
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto average = metric.average(values_of(kernels[i], metric, head_dim));
        columns[2 + i].cells.push_back(average ? metric.format(*average, 3) : "-");
      }
    }
  }
  return legend(kernels) + format_columns(columns, style);
}

}  // namespace sparkbench
