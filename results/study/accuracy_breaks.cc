#include "results/study/accuracy_breaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"

namespace sparkbench {
namespace {

int scale_of(const CaseRecord& record) { return record.problem.input_scale.value_or(1); }

void keep_least(std::optional<int>& least, int scale) {
  least = std::min(scale, least.value_or(scale));
}

/// Whether the case belongs to the study at some scale.
bool is_of_input(const AccuracyStudy& study, const CaseRecord& record) {
  return record.problem.pass == study.pass && record.problem.input == study.input;
}

std::set<int> scales_of(const RunRecord& run, const AccuracyStudy& study) {
  std::set<int> scales;
  for (const CaseRecord& record : run.cases) {
    if (is_of_input(study, record)) scales.insert(scale_of(record));
  }
  return scales;
}

std::set<int> head_dims_of(const AccuracyStudy& study) {
  std::set<int> head_dims;
  for (const CaseRecord& record : study.kernels.front().cases) {
    head_dims.insert(record.problem.head_dim);
  }
  return head_dims;
}

std::optional<int> overflow_of_inputs(const RunRecord& run, const AccuracyStudy& study,
                                      int head_dim) {
  std::optional<int> least;
  for (const CaseRecord& record : run.cases) {
    if (!record.reason || record.reason->code != "E-INPUT-OVERFLOW") continue;
    if (!is_of_input(study, record) || record.problem.head_dim != head_dim) continue;
    keep_least(least, scale_of(record));
  }
  return least;
}

std::string cell_of(const std::optional<int>& scale) {
  return scale ? std::to_string(*scale) : "-";
}

void append_head_dim(const RunRecord& run, const AccuracyStudy& study, int head_dim,
                     std::vector<TextColumn>& columns) {
  const std::string overflow = cell_of(overflow_of_inputs(run, study, head_dim));
  for (const std::string& way :
       {fmt::format("rel_l1 > {} %",
                    significant(100.0 * breaking_rel_l1(run.cases.front().problem.element), 1)),
        std::string("not finite")}) {
    columns[0].cells.push_back(std::to_string(head_dim));
    columns[1].cells.push_back(way);
    columns.back().cells.push_back(overflow);
  }
  for (std::size_t i = 0; i < study.kernels.size(); ++i) {
    const AccuracyBreak broken = find_break(run, study, study.kernels[i].name, head_dim);
    columns[2 + i].cells.push_back(cell_of(broken.above_limit));
    columns[2 + i].cells.push_back(cell_of(broken.not_finite));
  }
}

std::string format_study(const RunRecord& run, const AccuracyStudy& study, const TableView& view) {
  const std::set<int> scales = scales_of(run, study);
  if (scales.size() < 2) return "";
  std::vector<TextColumn> columns = {{"head_dim", {}, true}, {"breaks by", {}, false}};
  for (const StudiedKernel& kernel : study.kernels) columns.push_back({kernel.title, {}, true});
  columns.push_back({"inputs overflow", {}, true});
  for (const int head_dim : head_dims_of(study)) append_head_dim(run, study, head_dim, columns);
  const std::string head = fmt::format(
      "Where {} breaks, pass {}{}: the first input_scale, of {} from {} to {}; '-' is none\n",
      study.output, name_of(study.pass), study.input ? ", input " + *study.input : "",
      scales.size(), *scales.begin(), *scales.rbegin());
  return wrapped(head, view) + "\n" + format_columns(columns, view, 2);
}

}  // namespace

AccuracyBreak find_break(const RunRecord& run, const AccuracyStudy& study,
                         const std::string& kernel, int head_dim) {
  AccuracyBreak broken;
  for (const CaseRecord& record : run.cases) {
    const Accuracy* accuracy = find_accuracy(record, study.output);
    if (accuracy == nullptr || record.kernel != kernel) continue;
    if (!is_of_input(study, record) || record.problem.head_dim != head_dim) continue;
    const bool is_finite = accuracy->nonfinite == 0;
    if (!is_finite) keep_least(broken.not_finite, scale_of(record));
    if (!is_finite || !(accuracy->rel_l1 <= breaking_rel_l1(record.problem.element))) {
      keep_least(broken.above_limit, scale_of(record));
    }
  }
  return broken;
}

std::string format_accuracy_breaks(const RunRecord& run, const TableView& view) {
  std::string text;
  for (const AccuracyStudy& study : study_accuracy(run)) {
    const std::string block = format_study(run, study, view);
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block;
  }
  return text;
}

}  // namespace sparkbench
