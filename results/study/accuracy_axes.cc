#include "results/study/accuracy_axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/accuracy_study.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

struct Mean {
  AxisValue value;
  double sum = 0.0;
  int count = 0;
};

Mean& mean_of(std::vector<Mean>& means, const AxisValue& value) {
  const auto found = std::find_if(means.begin(), means.end(),
                                  [&](const Mean& mean) { return mean.value == value; });
  if (found != means.end()) return *found;
  means.push_back({value});
  return means.back();
}

/// By value of the axis: numbers sorted, names in the requested order.
std::vector<Mean> mean_errors(const StudiedKernel& kernel, const Axis& axis) {
  std::vector<Mean> means;
  for (const CaseRecord& record : kernel.cases) {
    Mean& mean = mean_of(means, axis.access.get(record.problem));
    mean.sum += record.accuracy->rel_l1;
    ++mean.count;
  }
  std::stable_sort(means.begin(), means.end(), [](const Mean& a, const Mean& b) {
    return !std::holds_alternative<std::string>(a.value) && a.value < b.value;
  });
  return means;
}

bool all_equal_twin(const AccuracyStudy& study, const Axis& axis) {
  const std::vector<CaseRecord>& cases = study.kernels.front().cases;
  return std::all_of(cases.begin(), cases.end(),
                     [&](const CaseRecord& record) { return equals_twin(axis, record.problem); });
}

void append_axis(const AccuracyStudy& study, const Axis& axis, std::vector<TextColumn>& columns) {
  const std::vector<Mean> values = mean_errors(study.kernels.front(), axis);
  if (values.size() < 2) return;
  for (const Mean& mean : values) {
    columns[0].cells.emplace_back(axis.heading);
    columns[1].cells.push_back(text_of_value(mean.value));
  }
  for (std::size_t i = 0; i < study.kernels.size(); ++i) {
    for (const Mean& mean : mean_errors(study.kernels[i], axis)) {
      columns[2 + i].cells.push_back(significant(100.0 * mean.sum / mean.count, 3));
    }
  }
}

std::string format_study(const AccuracyStudy& study, const TableView& view) {
  std::vector<TextColumn> columns = {{"axis", {}, false}, {"value", {}, true}};
  for (const StudiedKernel& kernel : study.kernels) columns.push_back({kernel.title, {}, true});
  for (const Axis* axis : problem_axes()) {
    if (axis->is_studied && !all_equal_twin(study, *axis)) append_axis(study, *axis, columns);
  }
  if (columns[0].cells.empty()) return "";
  const std::string head =
      fmt::format("rel_l1 % of {} along each axis, pass {}{}: the mean over the others\n",
                  study.output, name_of(study.pass), study.input ? ", input " + *study.input : "");
  return wrapped(head, view) + "\n" + format_columns(columns, view, 2);
}

}  // namespace

std::string format_accuracy_axes(const RunRecord& run, const TableView& view) {
  std::string text;
  for (const AccuracyStudy& study : study_accuracy(run)) {
    const std::string block = format_study(study, view);
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block;
  }
  return text;
}

}  // namespace sparkbench
