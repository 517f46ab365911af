#include "results/render/layer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/render/case_table.h"
#include "results/render/number_format.h"

namespace sparkbench {
namespace {

using Layers = std::vector<const CaseRecord*>;

/// Timed, or else predicted; one table does not mix them.
std::optional<double> ms_of(const StageOutcome& stage, bool is_measured) {
  if (is_measured) return stage.time_ms;
  return stage.predicted_ms ? std::optional(stage.predicted_ms->likely) : std::nullopt;
}

bool has_stages(const CaseRecord& record, bool is_measured) {
  return record.layer && std::ranges::any_of(record.layer->stages, [&](const StageOutcome& stage) {
           return ms_of(stage, is_measured).has_value();
         });
}

Layers layers_with_stages(const RunRecord& run, bool is_measured) {
  Layers layers;
  for (const CaseRecord& record : run.cases) {
    if (has_stages(record, is_measured)) layers.push_back(&record);
  }
  return layers;
}

std::vector<TextColumn> layer_columns(const RunRecord& run, const Layers& layers) {
  std::vector<CaseRecord> cases;
  cases.reserve(layers.size());
  for (const CaseRecord* record : layers) cases.push_back(*record);
  return leading_columns(run.cases, cases);
}

/// In the order of first appearance.
std::vector<std::string> names_of_stages(const Layers& layers) {
  std::vector<std::string> names;
  for (const CaseRecord* record : layers) {
    for (const StageOutcome& stage : record->layer->stages) {
      if (std::ranges::find(names, stage.name) == names.end()) names.push_back(stage.name);
    }
  }
  return names;
}

std::string stage_cell(const CaseRecord& record, const std::string& name, bool is_measured) {
  for (const StageOutcome& stage : record.layer->stages) {
    if (stage.name != name) continue;
    const auto ms = ms_of(stage, is_measured);
    return ms ? significant(*ms, 3) : "-";
  }
  return "-";
}

std::string stages_table(const RunRecord& run, const Layers& layers, bool is_measured,
                         const TableView& view) {
  std::vector<TextColumn> columns = layer_columns(run, layers);
  const std::size_t leading = columns.size();
  for (const std::string& name : names_of_stages(layers)) {
    TextColumn column;
    column.title = name;
    for (const CaseRecord* record : layers) {
      column.cells.push_back(stage_cell(*record, name, is_measured));
    }
    columns.push_back(std::move(column));
  }
  return fmt::format("milliseconds of each stage, {}\n\n{}",
                     is_measured ? "timed by itself" : "predicted and not measured",
                     format_columns(columns, view, leading));
}

/// In the order of first appearance.
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

std::string errors_table(const RunRecord& run, const Layers& layers, const TableView& view) {
  std::vector<TextColumn> columns = layer_columns(run, layers);
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
  Layers timed = layers_with_stages(run, true), verified;
  const bool is_measured = !timed.empty();
  if (!is_measured) timed = layers_with_stages(run, false);
  for (const CaseRecord& record : run.cases) {
    if (record.layer && !record.layer->errors.empty()) verified.push_back(&record);
  }
  const std::string times = timed.empty() ? "" : stages_table(run, timed, is_measured, view);
  const std::string errors = verified.empty() ? "" : errors_table(run, verified, view);
  return fmt::format("{}{}{}", times, times.empty() || errors.empty() ? "" : "\n", errors);
}

}  // namespace sparkbench
