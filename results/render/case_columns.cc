#include "results/render/case_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "results/record/enum_names.h"
#include "results/render/number_format.h"
#include "results/study/kernel_statistics.h"
#include "results/study/prediction_check.h"
#include "sweeps/layer_axes.h"

namespace sparkbench {
namespace {

using CellOf = std::function<std::string(const CaseRecord&)>;

template <class T>
CellOf digits_of(std::optional<T> CaseRecord::*value, int digits, double factor = 1) {
  return [=](const CaseRecord& record) {
    const std::optional<T>& held = record.*value;
    return held ? significant(factor * *held, digits) : "";
  };
}

/// rel_l1 of one output in percent.
CellOf rel_l1_percent_cell(std::string_view output) {
  return [output](const CaseRecord& record) {
    const Accuracy* accuracy = find_accuracy(record, output);
    return accuracy != nullptr ? significant(100.0 * accuracy->rel_l1, 3) : "";
  };
}

CellOf worst_error_cell(double Accuracy::*metric) {
  return [metric](const CaseRecord& record) {
    std::vector<double> errors;
    for (const Accuracy* accuracy : accuracies_of(record)) errors.push_back(accuracy->*metric);
    const std::optional<double> worst = largest(errors);
    return worst ? scientific(*worst, 3) : "";
  };
}

std::string error_over_unfused_cell(const CaseRecord& record) {
  const auto error = worst_error_over_unfused(record);
  return error ? significant(*error, 3) : "";
}

std::string status_cell(const CaseRecord& record) { return std::string(name_of(record.status)); }

Ink status_ink(std::string_view cell) {
  if (cell.starts_with("incorrect") || cell.starts_with("failed")) return Ink::kBad;
  return cell == "ok" ? Ink::kGood : Ink::kDoubtful;
}

std::string time_cell(const CaseRecord& record) {
  if (!record.time_ms) return "";
  return significant(record.time_ms->median, 4) + (record.valid ? "" : " (invalid)");
}

Ink time_ink(std::string_view cell) {
  return cell.ends_with("(invalid)") ? Ink::kDoubtful : Ink::kPlain;
}

std::string speedup_cell(const CaseRecord& record) {
  return record.speedup ? significant(record.speedup->ratio, 3) : "";
}

std::string clock_cell(const CaseRecord& record) {
  return record.clock_mhz ? significant(record.clock_mhz->median, 4) : "";
}

std::string samples_cell(const CaseRecord& record) {
  return record.sampling ? std::to_string(record.sampling->count) : "";
}

std::string predicted_ms_cell(const CaseRecord& record) {
  return record.predicted ? significant(record.predicted->time_ms.likely, 3) : "";
}

std::string predicted_speedup_cell(const CaseRecord& record) {
  if (!record.predicted || !record.predicted->speedup) return "";
  return significant(record.predicted->speedup->likely, 2);
}

/// "0.92-1.2"
std::string band_text(double low, double high) {
  return fmt::format("{}-{}", significant(low, 2), significant(high, 2));
}

std::string predicted_band_cell(const CaseRecord& record) {
  if (!record.predicted) return "";
  return band_text(record.predicted->time_ms.low, record.predicted->time_ms.high);
}

std::string speedup_band_cell(const CaseRecord& record) {
  if (!record.predicted || !record.predicted->speedup) return "";
  return band_text(record.predicted->speedup->low, record.predicted->speedup->high);
}

std::string predicted_tflops_cell(const CaseRecord& record) {
  return record.predicted ? significant(record.predicted->tflops, 3) : "";
}

std::string predicted_binding_cell(const CaseRecord& record) {
  return record.predicted ? record.predicted->binding : "";
}

std::string over_predicted_cell(const CaseRecord& record) {
  const auto check = check_prediction(record);
  if (!check) return "";
  return significant(check->ratio, 3) + (check->is_in_band ? "" : " (outside)");
}

/// "24"; "" for attention by itself.
std::string attention_share_cell(const CaseRecord& record) {
  if (!record.layer || !record.layer->attention_share) return "";
  return significant(100 * *record.layer->attention_share, 2);
}

std::string launches_cell(const CaseRecord& record) {
  const bool is_known = record.layer && record.layer->launches > 0;
  return is_known ? std::to_string(record.layer->launches) : "";
}

/// Only for a pattern: the density of other masks is well known.
std::string density_cell(const CaseRecord& record) {
  if (!record.problem.pattern_spec || !record.mask_work) return "";
  const std::optional<double>& density = record.mask_work->density;
  return density ? significant(100.0 * *density, 3) : "";
}

std::string memory_cell(const CaseRecord& record) {
  if (!record.memory_bytes) return "";
  return format_memory(record.memory_bytes->peak.value_or(record.memory_bytes->predicted));
}

std::string workspace_cell(const CaseRecord& record) {
  return record.memory_bytes ? format_memory(record.memory_bytes->workspace) : "";
}

std::string unfused_memory_cell(const CaseRecord& record) {
  if (!record.memory_bytes || !record.memory_bytes->unfused) return "";
  return format_memory(*record.memory_bytes->unfused);
}

std::string device_cell(const CaseRecord& record) { return record.device.value_or(""); }

/// "head\ndim": splits titles, so that a title does not widen its column.
std::string two_lines(std::string title) {
  const std::size_t bar = title.find('_');
  if (bar != std::string::npos) title[bar] = '\n';
  return title;
}

void append_axes(std::vector<CaseColumn>& columns) {
  for (const Axis* axis : problem_axes_of(Workload::kLayer)) {
    columns.push_back({.name = axis->heading,
                       .title = axis->heading == std::string_view("dropout")
                                    ? "drop\nout"
                                    : two_lines(axis->heading),
                       .cell =
                           [axis](const CaseRecord& record) {
                             return text_of_value(axis->access.get(record.problem));
                           },
                       .is_text = axis->heading == std::string_view("input"),
                       .axis = axis});
  }
}

std::vector<CaseColumn> make_case_columns() {
  std::vector<CaseColumn> columns = {
      {"kernel", "kernel", [](const CaseRecord& c) { return c.kernel; }, 0, true},
      {"model", "model", [](const CaseRecord& c) { return c.problem.model.value_or(""); }, 0,
       true}};
  append_axes(columns);
  const std::vector<CaseColumn> results = {
      {"device", "device", device_cell, kOnlyWhenAsked, true},
      {"time_ms", "time\nms", time_cell, 1, false, nullptr, time_ink},
      {"noise", "noise\n%", digits_of(&CaseRecord::noise, 2, 100), 8},
      {"samples", "samples", samples_cell, kOnlyWhenAsked},
      {"clock_mhz", "clock\nMHz", clock_cell, kOnlyWhenAsked},
      {"predicted_ms", "predicted\nms", predicted_ms_cell, 1},
      {"predicted_band", "band\nms", predicted_band_cell, 15},
      {"predicted_tflops", "predicted\nTFLOP/s", predicted_tflops_cell, 10},
      {"predicted_by", "predicted\nby", predicted_binding_cell, 17, true},
      {"predicted_speedup", "predicted\nspeed-up", predicted_speedup_cell, 2},
      {"speedup_band", "band", speedup_band_cell, 14},
      {"over_predicted", "measured/\npredicted", over_predicted_cell, 9},
      {"attention", "attention\n%", attention_share_cell, 11},
      {"launches", "launches", launches_cell, 12},
      {"tflops", "TFLOP\n/s", digits_of(&CaseRecord::tflops, 4), 6},
      {"peak", "peak\n%", digits_of(&CaseRecord::peak_fraction, 3, 100), 7},
      {"gbps", "GB/s", digits_of(&CaseRecord::gbps, 4), kOnlyWhenAsked},
      {"bandwidth", "bandwidth\n%", digits_of(&CaseRecord::bandwidth_fraction, 3, 100),
       kOnlyWhenAsked},
      {"speedup", "speed\n-up", speedup_cell, 2},
      {"density", "density\n%", density_cell, 13},
      {"memory", "memory", memory_cell, 3},
      {"workspace", "workspace", workspace_cell, kOnlyWhenAsked},
      {"unfused_memory", "unfused\nmemory", unfused_memory_cell, 16},
      {"rel_l1", "rel_l1\n%", rel_l1_percent_cell("o"), 5},
      {"dq_rel_l1", "dq\nrel_l1 %", rel_l1_percent_cell("dq"), 5},
      {"dk_rel_l1", "dk\nrel_l1 %", rel_l1_percent_cell("dk"), 5},
      {"dv_rel_l1", "dv\nrel_l1 %", rel_l1_percent_cell("dv"), 5},
      {"rel_l2", "rel_l2", worst_error_cell(&Accuracy::rel_l2), kOnlyWhenAsked},
      {"max_abs", "max_abs", worst_error_cell(&Accuracy::max_abs), kOnlyWhenAsked},
      {"error_over_unfused", "error/\nunfused", error_over_unfused_cell, 4},
      {"status", "status", status_cell, 0, true, nullptr, status_ink},
      {"id", "id", [](const CaseRecord& c) { return c.id; }, kOnlyWhenAsked, true},
  };
  columns.insert(columns.end(), results.begin(), results.end());
  return columns;
}

}  // namespace

std::span<const CaseColumn> case_columns() {
  static const std::vector<CaseColumn> columns = make_case_columns();
  return columns;
}

std::vector<std::string> case_column_names() {
  std::vector<std::string> names;
  for (const CaseColumn& column : case_columns()) names.push_back(column.name);
  names.emplace_back("all");
  return names;
}

TextColumn text_column_of(const CaseColumn& column, const std::vector<CaseRecord>& cases) {
  TextColumn text{column.title, {}, !column.is_text, column.ink};
  for (const CaseRecord& record : cases) text.cells.push_back(column.cell(record));
  return text;
}

bool is_constant(const TextColumn& column) {
  return std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) ==
         column.cells.end();
}

bool has_no_value(const TextColumn& column) {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell.empty(); });
}

bool has_predicted_kernel(const std::vector<CaseRecord>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const CaseRecord& record) {
    return record.role == Role::kFused && record.predicted.has_value();
  });
}

}  // namespace sparkbench
