#include "results/study/accuracy_axes.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/store/shortest.h"
#include "results/study/accuracy_study.h"

namespace sparkbench {
namespace {

/// A value that sorts, and as it is written.
using AxisValue = std::pair<double, std::string>;

struct Axis {
  std::string_view title;
  std::function<AxisValue(const ProblemRecord&)> value;
};

std::vector<Axis> axes() {
  const auto extent = [](int ProblemRecord::*member) {
    return [member](const ProblemRecord& p) {
      return AxisValue(p.*member, std::to_string(p.*member));
    };
  };
  return {
      {"seqlen_q", extent(&ProblemRecord::seqlen_q)},
      {"seqlen_k", extent(&ProblemRecord::seqlen_k)},
      {"causal",
       [](const ProblemRecord& p) { return AxisValue(p.causal, p.causal ? "true" : "false"); }},
      {"dropout",
       [](const ProblemRecord& p) { return AxisValue(p.dropout_p, shortest(p.dropout_p)); }},
  };
}

struct Mean {
  double sum = 0.0;
  int count = 0;
};

/// By value of the axis.
std::map<AxisValue, Mean> mean_errors(const StudiedKernel& kernel, const Axis& axis) {
  std::map<AxisValue, Mean> means;
  for (const CaseRecord& record : kernel.cases) {
    Mean& mean = means[axis.value(record.problem)];
    mean.sum += record.accuracy->rel_l1;
    ++mean.count;
  }
  return means;
}

bool is_self_attention(const AccuracyStudy& study) {
  for (const CaseRecord& record : study.kernels.front().cases) {
    if (record.problem.seqlen_q != record.problem.seqlen_k) return false;
  }
  return true;
}

void append_axis(const AccuracyStudy& study, const Axis& axis, std::vector<TextColumn>& columns) {
  const std::map<AxisValue, Mean> values = mean_errors(study.kernels.front(), axis);
  if (values.size() < 2) return;
  for (const auto& [value, unused] : values) {
    columns[0].cells.emplace_back(axis.title);
    columns[1].cells.push_back(value.second);
  }
  for (std::size_t i = 0; i < study.kernels.size(); ++i) {
    for (const auto& [value, mean] : mean_errors(study.kernels[i], axis)) {
      columns[2 + i].cells.push_back(significant(100.0 * mean.sum / mean.count, 3));
    }
  }
}

std::string format_study(const AccuracyStudy& study, TableStyle style) {
  std::vector<TextColumn> columns = {{"axis", {}, false}, {"value", {}, true}};
  for (const StudiedKernel& kernel : study.kernels) columns.push_back({kernel.title, {}, true});
  for (const Axis& axis : axes()) {
    if (axis.title == "seqlen_k" && is_self_attention(study)) continue;
    append_axis(study, axis, columns);
  }
  if (columns[0].cells.empty()) return "";
  return fmt::format("rel_l1 % of {} along each axis, pass {}{}: the mean over the others\n\n{}",
                     study.output, name_of(study.pass),
                     study.input ? ", input " + *study.input : "", format_columns(columns, style));
}

}  // namespace

std::string format_accuracy_axes(const RunRecord& run, TableStyle style) {
  std::string text;
  for (const AccuracyStudy& study : study_accuracy(run)) {
    const std::string block = format_study(study, style);
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block;
  }
  return text;
}

}  // namespace sparkbench
