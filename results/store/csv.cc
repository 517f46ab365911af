#include "results/store/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/enum_names.h"
#include "results/record/provenance.h"
#include "results/record/record_fields.h"
#include "results/record/safe_text.h"
#include "results/store/lean_columns.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

struct Cell {
  std::string column;
  std::string text;  // empty for null
};
using Row = std::vector<Cell>;

std::string text_of(const std::string& value) { return csv_text(value); }
std::string text_of(const Warning& warning) { return warning.code; }
/// "cublas=13.1.0;cudnn=9.14.0"
std::string text_of(const Libraries& libraries) {
  std::string text;
  for (const auto& [name, version] : libraries) {
    text.append(text.empty() ? "" : ";").append(name).append("=").append(version);
  }
  return text;
}
std::string text_of(const PassPart& part) { return part.name; }
std::string text_of(const StageOutcome& stage) { return stage.name; }
std::string text_of(const LayerError& error) { return error.of; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::integral auto value) { return std::to_string(value); }
std::string text_of(std::floating_point auto value) { return shortest(value); }

template <class T>
requires std::is_enum_v<T> std::string text_of(T value) { return std::string(name_of(value)); }

template <class P>
std::string text_of(const AxisField<P>& field) {
  return text_of_value(field.value());
}

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : std::string();
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    if (!text.empty()) text += ';';
    text += text_of(value);
  }
  return text;
}

bool names_its_leaves_alone(std::string_view group) {
  return group == "problem" || group == "accuracy" || group == "provenance";
}

constexpr std::array<std::string_view, 12> kGradientColumns = {"max_abs",
                                                               "mean_abs",
                                                               "rel_l1",
                                                               "rel_l2",
                                                               "max_rel",
                                                               "cosine_diff",
                                                               "nonfinite",
                                                               "error_ratio",
                                                               "error_over_unfused",
                                                               "mask_hash",
                                                               "bitwise_repeatable",
                                                               "output_hash"};

/// Fields of Accuracy since 1.7.0; their columns follow all earlier ones.
constexpr std::array<std::string_view, 4> kLateColumns = {"checked_rows", "weighted",
                                                          "worst_row_rel_l1", "worst_row"};

bool is_late(std::string_view leaf) {
  return std::find(kLateColumns.begin(), kLateColumns.end(), leaf) != kLateColumns.end();
}

/// Whether a leaf is only in the JSON: lists of times, and most fields of gradients.
bool is_left_out(std::string_view group, std::string_view leaf) {
  if (group.empty() && leaf == "parts") return true;
  if (group == "layer" && (leaf == "stages" || leaf == "errors")) return true;
  if (group == "accuracy" && is_late(leaf)) return true;
  if (group == "predicted" && leaf == "software") return true;  // a late column
  if (group == "o" && leaf == "lse_max_abs") return false;
  if (group != "dq" && group != "dk" && group != "dv" && group != "o") return leaf == "samples";
  return std::find(kGradientColumns.begin(), kGradientColumns.end(), leaf) ==
         kGradientColumns.end();
}

/// Appends the cells of `value`, or as many empty ones if it is null.
template <class T>
void append_cells(const std::string& name, const T* value, Row& row) {
  if constexpr (IsOptional<T>::value) {
    using Value = typename T::value_type;
    append_cells<Value>(name, value != nullptr && *value ? &**value : nullptr, row);
  } else if constexpr (Record<T>) {
    const T blank{};
    const std::string prefix =
        name.empty() || names_its_leaves_alone(name) ? std::string() : name + "_";
    visit_fields(value != nullptr ? *value : blank, [&](const char* leaf, const auto& field) {
      if (is_left_out(name, leaf)) return;
      append_cells(prefix + leaf, value != nullptr ? &field : nullptr, row);
    });
  } else {
    row.push_back({name, value != nullptr ? text_of(*value) : std::string()});
  }
}

void append_late_cells(const std::string& prefix, const Accuracy* accuracy, Row& row) {
  const Accuracy blank{};
  visit_fields(accuracy != nullptr ? *accuracy : blank, [&](const char* leaf, const auto& field) {
    if (is_late(leaf)) append_cells(prefix + leaf, accuracy != nullptr ? &field : nullptr, row);
  });
}

Row row_of(const CaseRecord& record, const RunRecord& run) {
  Row row;
  append_cells("", &record, row);
  append_late_cells("", record.accuracy ? &*record.accuracy : nullptr, row);
  for (const char* output : {"dq", "dk", "dv", "o"}) {
    const Accuracy* const accuracy = record.accuracy ? nullptr : find_accuracy(record, output);
    append_late_cells(std::string(output) + "_", accuracy, row);
  }
  const bool is_multiplied = record.predicted && record.predicted->software;
  append_cells("predicted_software", is_multiplied ? &*record.predicted->software : nullptr, row);
  for (const auto& [key, value] : run.run.tags) {
    row.push_back({csv_text("tag_" + key), csv_text(value)});
  }
  return row;
}

/// RFC 4180: quoted if it contains a comma, a quote or a line break; quotes doubled.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quotes_doubled;
  for (const char character : text) {
    if (character == '"') quotes_doubled += '"';
    quotes_doubled += character;
  }
  return "\"" + quotes_doubled + "\"";
}

template <class Use>
void for_each_row(const RunRecord& run, Use use) {
  for (CaseRecord record : run.cases) {
    if (!record.provenance) record.provenance = provenance_of(run);
    use(row_of(record, run));
  }
}

/// The indices of the columns that --csv keeps for this run.
std::vector<std::size_t> lean_indices(const RunRecord& run) {
  const Row head = row_of({}, run);
  std::vector<LeanColumn> columns;
  columns.reserve(head.size());
  for (const Cell& cell : head) columns.emplace_back(cell.column);
  for_each_row(run, [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].add(row[i].text);
  });
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].stays()) indices.push_back(i);
  }
  return indices;
}

std::string line_of(const Row& row, std::string Cell::*part,
                    const std::vector<std::size_t>& indices) {
  std::string line;
  for (const std::size_t i : indices) {
    if (i != indices.front()) line += ',';
    line += quoted(row[i].*part);
  }
  return line + "\n";
}

std::string csv_of(const RunRecord& run, const std::vector<std::size_t>& indices) {
  std::string csv = line_of(row_of({}, run), &Cell::column, indices);
  for_each_row(run, [&](const Row& row) { csv += line_of(row, &Cell::text, indices); });
  return csv;
}

}  // namespace

std::string cases_to_csv(const RunRecord& run) {
  std::vector<std::size_t> all(row_of({}, run).size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return csv_of(run, all);
}

std::string cases_to_lean_csv(const RunRecord& run) { return csv_of(run, lean_indices(run)); }

}  // namespace sparkbench
