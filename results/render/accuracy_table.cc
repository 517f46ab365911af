#include "results/render/accuracy_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/accuracy_study.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

using Values = std::vector<double>;
using Average = std::optional<double> (*)(const Values&);
using Format = std::string (*)(double value, int digits);

struct MetricRule {
  std::string_view title;
  double (*value)(const Accuracy&);  // NaN if there is none
  Average average;
  Format format;
};

std::optional<double> arithmetic_mean(const Values& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double or_nan(const std::optional<double>& value) { return value.value_or(std::nan("")); }

/// A gradient has no LSE.
std::vector<MetricRule> metric_rules(bool has_lse) {
  std::vector<MetricRule> rules = {
      {"rel_l1 %", [](const Accuracy& a) { return 100.0 * a.rel_l1; }, arithmetic_mean,
       significant},
      {"worst row rel_l1 %", [](const Accuracy& a) { return 100.0 * or_nan(a.worst_row_rel_l1); },
       largest, significant},
      {"rel_l2", [](const Accuracy& a) { return a.rel_l2; }, arithmetic_mean, scientific},
      {"mean_rel %", [](const Accuracy& a) { return 100.0 * a.mean_rel; }, arithmetic_mean,
       significant},
      {"mean_abs", [](const Accuracy& a) { return a.mean_abs; }, arithmetic_mean, scientific},
      {"max_abs", [](const Accuracy& a) { return a.max_abs; }, largest, scientific},
      {"lse_max_abs", [](const Accuracy& a) { return or_nan(a.lse_max_abs); }, largest, scientific},
      {"error_over_unfused", [](const Accuracy& a) { return or_nan(a.error_over_unfused); },
       geometric_mean, significant},
  };
  if (!has_lse) std::erase_if(rules, [](const auto& rule) { return rule.title == "lse_max_abs"; });
  return rules;
}

Values values_of(const StudiedKernel& kernel, const MetricRule& metric, int head_dim) {
  Values values;
  for (const CaseRecord& record : kernel.cases) {
    if (record.problem.head_dim == head_dim) values.push_back(metric.value(*record.accuracy));
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

bool has_nonfinite_output(const StudiedKernel& kernel) {
  return std::any_of(kernel.cases.begin(), kernel.cases.end(),
                     [](const CaseRecord& record) { return record.accuracy->nonfinite != 0; });
}

bool is_of_samples(const std::vector<StudiedKernel>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(), [](const StudiedKernel& kernel) {
    return std::any_of(kernel.cases.begin(), kernel.cases.end(), [](const CaseRecord& record) {
      return record.accuracy->weighted.value_or(false);
    });
  });
}

std::string legend(const AccuracyStudy& study) {
  const std::vector<StudiedKernel>& kernels = study.kernels;
  std::string text =
      fmt::format("Errors of {}, pass {}{}, on {} problems", study.output, name_of(study.pass),
                  study.input ? ", input " + *study.input : "", kernels.front().cases.size());
  for (const StudiedKernel& kernel : kernels) {
    if (kernel.title != kernel.name) text += fmt::format(", {} is {}", kernel.title, kernel.name);
  }
  text += fmt::format(";\nerror_over_unfused is {}\n", kErrorOverUnfusedMeaning);
  if (is_of_samples(kernels)) {
    text +=
        "of sampled rows means are weighted to be those of all rows, and the worst row and the "
        "largest errors are of the rows checked\n";
  }
  if (std::any_of(kernels.begin(), kernels.end(), has_nonfinite_output)) {
    text += "a mean over outputs of which one is not finite is none: -\n";
  }
  return text + "\n";
}

/// One cell per kernel; "-" if it has no value.
std::vector<std::string> cells_of(const AccuracyStudy& study, const MetricRule& metric,
                                  int head_dim) {
  std::vector<std::string> cells;
  for (const StudiedKernel& kernel : study.kernels) {
    const auto average = metric.average(values_of(kernel, metric, head_dim));
    cells.push_back(average ? metric.format(*average, 3) : "-");
  }
  return cells;
}

std::string format_study(const AccuracyStudy& study, const TableView& view) {
  std::vector<TextColumn> columns = {{"metric", {}, false}, {"head_dim", {}, true}};
  for (const StudiedKernel& kernel : study.kernels) columns.push_back({kernel.title, {}, true});
  for (const MetricRule& metric : metric_rules(study.output == "o")) {
    for (const int head_dim : head_dims_of(study.kernels)) {
      const std::vector<std::string> cells = cells_of(study, metric, head_dim);
      columns[0].cells.emplace_back(metric.title);
      columns[1].cells.push_back(std::to_string(head_dim));
      for (std::size_t i = 0; i < cells.size(); ++i) columns[2 + i].cells.push_back(cells[i]);
    }
  }
  return wrapped(legend(study), view) + format_columns(columns, view, 2);
}

}  // namespace

std::string format_accuracy_table(const RunRecord& run, const TableView& view) {
  std::string text;
  for (const AccuracyStudy& study : study_accuracy(run)) {
    if (!text.empty()) text += "\n";
    text += format_study(study, view);
  }
  return text;
}

}  // namespace sparkbench
