#include "results/render/layer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/render/case_table.h"
#include "results/render/number_format.h"

namespace sparkbench {
namespace {

using Layers = std::vector<const CaseRecord*>;

std::optional<double> ms_of(const StageOutcome& stage) {
  if (stage.time_ms) return stage.time_ms;
  if (stage.predicted_ms) return stage.predicted_ms->likely;
  return std::nullopt;
}

bool has_stage_times(const CaseRecord& record) {
  return record.layer && !record.layer->stages.empty() && ms_of(record.layer->stages.front());
}

std::vector<TextColumn> layer_columns(const Layers& layers) {
  std::vector<CaseRecord> cases;
  for (const CaseRecord* record : layers) cases.push_back(*record);
  return leading_columns(cases);
}

std::string stages_table(const Layers& layers, const TableView& view) {
  std::vector<TextColumn> columns = layer_columns(layers);
  const std::size_t leading = columns.size();
  for (std::size_t i = 0; i < layers.front()->layer->stages.size(); ++i) {
    TextColumn column;
    column.title = layers.front()->layer->stages[i].name;
    for (const CaseRecord* record : layers) {
      const auto ms = ms_of(record->layer->stages.at(i));
      column.cells.push_back(ms ? significant(*ms, 3) : "-");
    }
    columns.push_back(std::move(column));
  }
  const bool is_measured = layers.front()->layer->stages.front().time_ms.has_value();
  return fmt::format("milliseconds of each stage, {}\n\n{}",
                     is_measured ? "timed by itself" : "predicted and not measured",
                     format_columns(columns, view, leading));
}

/// In the order in which they first come.
std::vector<std::string> names_of_errors(const Layers& layers) {
  std::vector<std::string> names;
  for (const CaseRecord* record : layers) {
    for (const LayerError& error : record->layer->errors) {
      if (std::find(names.begin(), names.end(), error.of) == names.end()) names.push_back(error.of);
    }
  }
  return names;
}

/// "3.1e-04 (0.98x)"
std::string error_cell(const CaseRecord& record, const std::string& of) {
  for (const LayerError& error : record.layer->errors) {
    if (error.of != of) continue;
    const std::string ratio =
        error.over_unfused ? fmt::format(" ({}x)", significant(*error.over_unfused, 2)) : "";
    return scientific(error.rel_l2, 2) + ratio;
  }
  return "-";
}

std::string errors_table(const Layers& layers, const TableView& view) {
  std::vector<TextColumn> columns = layer_columns(layers);
  const std::size_t leading = columns.size();
  for (const std::string& name : names_of_errors(layers)) {
    TextColumn column;
    column.title = name;
    for (const CaseRecord* record : layers) column.cells.push_back(error_cell(*record, name));
    columns.push_back(std::move(column));
  }
  return wrapped(
             "rel_l2 of the output, of what the last residual is added to, and of each stage given "
             "exact inputs (over that of the unfused fp16 layer)\n",
             view) +
         "\n" + format_columns(columns, view, leading);
}

}  // namespace

std::string format_layer_table(const RunRecord& run, const TableView& view) {
  Layers timed, verified;
  for (const CaseRecord& record : run.cases) {
    if (has_stage_times(record)) timed.push_back(&record);
    if (record.layer && !record.layer->errors.empty()) verified.push_back(&record);
  }
  const std::string times = timed.empty() ? "" : stages_table(timed, view);
  const std::string errors = verified.empty() ? "" : errors_table(verified, view);
  return fmt::format("{}{}{}", times, times.empty() || errors.empty() ? "" : "\n", errors);
}

}  // namespace sparkbench
