#include "results/render/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "results/record/case_id.h"
#include "results/record/enum_names.h"
#include "results/record/safe_text.h"
#include "results/render/case_columns.h"
#include "results/render/column_legend.h"
#include "results/render/layer_table.h"
#include "results/render/tensors_read.h"
#include "results/study/case_filter.h"

namespace sparkbench {
namespace {

constexpr std::string_view kNoValue = "-";

struct ChosenColumn {
  const CaseColumn* rule;
  TextColumn text;
};

struct Choice {
  std::vector<std::string> constants;  // for the heading
  std::vector<ChosenColumn> columns;
  std::vector<std::string> left_out;  // columns that do not fit
};

bool all_equal_twin(const Axis& axis, const std::vector<CaseRecord>& cases) {
  return std::all_of(cases.begin(), cases.end(),
                     [&](const CaseRecord& record) { return equals_twin(axis, record.problem); });
}

/// Whether the value that all cases share is the default; an id omits it too.
bool is_usual(const Axis& axis, const CaseRecord& record) {
  const std::vector<AxisValue>& usual = axis.id.usual;
  return std::find(usual.begin(), usual.end(), axis.access.get(record.problem)) != usual.end();
}

/// "seqlen" for an axis whose twin always has the same value.
std::string heading_of(const Axis& axis, const std::vector<CaseRecord>& cases) {
  if (axis.name != std::string_view("seqlen_q")) return axis.heading;
  return all_equal_twin(find_axis("seqlen_k"), cases) ? "seqlen" : axis.heading;
}

/// The product of the two axes, if it is the same for every case; none otherwise.
std::optional<std::int64_t> shared_product(const Axis& a, const Axis& b,
                                           const std::vector<CaseRecord>& cases) {
  std::optional<std::int64_t> shared;
  for (const CaseRecord& record : cases) {
    const AxisValue first = a.access.get(record.problem), second = b.access.get(record.problem);
    if (!std::holds_alternative<int>(first) || !std::holds_alternative<int>(second)) return {};
    const std::int64_t product = std::int64_t{std::get<int>(first)} * std::get<int>(second);
    if (shared && *shared != product) return {};
    shared = product;
  }
  return shared;
}

/// "batch 16384 / seqlen" for an extent that varies with another; "" otherwise.
std::string derived_text(const Axis& axis, const std::vector<CaseRecord>& cases) {
  if (axis.derive == nullptr) return "";
  for (const char* const name : {"seqlen_q", "head_dim"}) {
    const Axis& other = find_axis(name);
    const auto product = &other == &axis ? std::nullopt : shared_product(axis, other, cases);
    if (product) {
      return fmt::format("{} {} / {}", axis.heading, *product, heading_of(other, cases));
    }
  }
  return "";
}

bool is_named(const TableView& view, std::string_view name) {
  return std::find(view.columns.begin(), view.columns.end(), name) != view.columns.end();
}

/// The axis's column, or its entry in the heading.
void choose_axis(const CaseColumn& rule, const std::vector<CaseRecord>& cases, Choice& choice) {
  TextColumn column = text_column_of(rule, cases);
  if (has_no_value(column)) return;
  const Axis& axis = *rule.axis;
  if (axis.twin != nullptr && all_equal_twin(axis, cases)) return;
  if (!is_constant(column)) {
    if (std::string derived = derived_text(axis, cases); !derived.empty()) {
      choice.constants.push_back(std::move(derived));
      return;
    }
    if (heading_of(axis, cases) == "seqlen") column.title = "seqlen";
    choice.columns.push_back({&rule, std::move(column)});
  } else if (!is_usual(axis, cases.front())) {
    choice.constants.push_back(fmt::format("{} {}", heading_of(axis, cases), column.cells.front()));
  }
}

/// The kernel's or the model's.
void choose_name(const CaseColumn& rule, const std::vector<CaseRecord>& cases, Choice& choice) {
  TextColumn column = text_column_of(rule, cases);
  if (has_no_value(column)) return;
  if (is_constant(column)) {
    choice.constants.push_back(fmt::format("{} {}", rule.name, column.cells.front()));
  } else {
    choice.columns.push_back({&rule, std::move(column)});
  }
}

bool is_of_prediction(std::string_view name) {
  return name.starts_with("predicted") || name == "speedup_band";
}

TextColumn result_column(const CaseColumn& rule, const std::vector<CaseRecord>& cases) {
  TextColumn column = text_column_of(rule, cases);
  std::replace(column.cells.begin(), column.cells.end(), std::string(), std::string(kNoValue));
  return column;
}

void choose_result(const CaseColumn& rule, const std::vector<CaseRecord>& cases,
                   const TableView& view, Choice& choice) {
  const TextColumn column = text_column_of(rule, cases);
  const bool wants_all = is_named(view, "all");
  if (has_no_value(column)) return;
  const bool is_needless =
      rule.rank == kOnlyWhenAsked || (is_of_prediction(rule.name) && !has_predicted_kernel(cases));
  if (!wants_all && is_needless) return;
  choice.columns.push_back({&rule, result_column(rule, cases)});
}

/// The columns requested by name, in that order, even if they do not vary.
void use_named_columns(const std::vector<CaseRecord>& cases, const TableView& view,
                       Choice& choice) {
  choice.columns.clear();
  for (const std::string& name : view.columns) {
    const auto rule = std::find_if(case_columns().begin(), case_columns().end(),
                                   [&](const CaseColumn& each) { return each.name == name; });
    if (rule != case_columns().end()) {
      choice.columns.push_back({&*rule, result_column(*rule, cases)});
    }
  }
}

int width_of_all(const std::vector<ChosenColumn>& columns) {
  int width = -kNarrowGap;
  for (const ChosenColumn& column : columns) width += width_of(column.text) + kNarrowGap;
  return width;
}

/// The priority for dropping, highest first. If the model determines the problem, its axes go
/// first.
int rank_of(const ChosenColumn& column, bool has_models) {
  constexpr int kFirst = kOnlyWhenAsked - 1;
  return has_models && column.rule->axis != nullptr ? kFirst : column.rule->rank;
}

void fit(const TableView& view, Choice& choice) {
  if (!view.width || view.style == TableStyle::kMarkdown) return;
  const bool has_models = std::ranges::any_of(
      choice.columns, [](const ChosenColumn& column) { return column.rule->name == "model"; });
  while (width_of_all(choice.columns) > *view.width) {
    const auto least = std::ranges::max_element(
        choice.columns, {}, [&](const ChosenColumn& each) { return rank_of(each, has_models); });
    if (least == choice.columns.end() || rank_of(*least, has_models) == 0) return;
    const std::string name = least->rule->name;
    const bool is_of_gradient = name.ends_with("_rel_l1");  // a single one would mislead
    std::erase_if(choice.columns, [&](const ChosenColumn& each) {
      const bool gives_way =
          each.rule->name == name || (is_of_gradient && each.rule->name.ends_with("_rel_l1"));
      if (gives_way) choice.left_out.push_back(each.rule->name);
      return gives_way;
    });
  }
}

Choice choose_columns(const std::vector<CaseRecord>& cases, const TableView& view) {
  Choice choice;
  if (cases.empty()) return choice;
  for (const CaseColumn& rule : case_columns()) {
    if (rule.name == view.by) continue;  // already in the line above each table
    if (rule.axis != nullptr) {
      choose_axis(rule, cases, choice);
    } else if (rule.name == "kernel" || rule.name == "model") {
      choose_name(rule, cases, choice);
    } else {
      choose_result(rule, cases, view, choice);
    }
  }
  if (view.columns.empty()) {
    fit(view, choice);
  } else if (!is_named(view, "all")) {
    use_named_columns(cases, view, choice);
  }
  return choice;
}

std::string device_text(const DeviceInfo& device) {
  if (device.kind != DeviceKind::kEmulated) return device.name;
  return fmt::format("{} (emulated, {} arithmetic)", device.name, device.arithmetic);
}

std::string left_out_line(const Choice& choice, const TableView& view) {
  if (choice.left_out.empty()) return "";
  return fmt::format("columns that do not fit in {} characters, shown by --columns all: {}\n",
                     *view.width, fmt::join(choice.left_out, ", "));
}

/// Names the requested columns that are empty for every case.
std::string empty_line(const RunRecord& run, const Choice& choice) {
  std::vector<std::string> empty;
  bool is_of_time = false;
  for (const ChosenColumn& column : choice.columns) {
    const std::vector<std::string>& cells = column.text.cells;
    if (!std::all_of(cells.begin(), cells.end(), [](auto& cell) { return cell == kNoValue; })) {
      continue;
    }
    empty.push_back(column.rule->name);
    is_of_time = is_of_time || column.rule->name == "time_ms" || column.rule->name == "tflops";
  }
  if (empty.empty() || run.cases.empty()) return "";
  return fmt::format("no case has a value of {}{}\n", fmt::join(empty, ", "),
                     is_of_time && has_predicted_kernel(run.cases)
                         ? ": nothing was timed; predicted_ms and predicted_tflops have predictions"
                         : "");
}

std::string head_of(const RunRecord& run, const Choice& choice, const TableView& view) {
  std::string head = device_text(run.environment.device);
  for (const std::string& constant : choice.constants) head += ", " + constant;
  std::vector<std::string> shown;
  for (const ChosenColumn& column : choice.columns) shown.push_back(column.rule->name);
  const std::string text = printable(head + "\n" + tensors_line(run) + legend_of(shown, run) +
                                     empty_line(run, choice) + left_out_line(choice, view));
  return wrapped(in_style(text, view), view) + "\n";
}

bool tells_cases(const ChosenColumn& column) {
  return column.rule->axis != nullptr || column.rule->name == "kernel" ||
         column.rule->name == "model";
}

/// Rows at which the next problem begins; empty if most problems have one row.
std::vector<std::size_t> breaks_between(const std::vector<CaseRecord>& cases,
                                        const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> breaks;
  std::string last;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string key = make_problem_key(cases[rows[i]].problem);
    if (i > 0 && key != last) breaks.push_back(i);
    last = std::move(key);
  }
  return 2 * (breaks.size() + 1) > rows.size() ? std::vector<std::size_t>() : breaks;
}

/// The rows with one value of the --by axis.
std::string format_group(const Choice& choice, const std::vector<CaseRecord>& cases,
                         const std::vector<std::size_t>& rows, const TableView& view) {
  std::vector<TextColumn> columns;
  std::size_t leading = 0;
  for (const ChosenColumn& chosen : choice.columns) {
    TextColumn column = chosen.text;
    column.cells.clear();
    for (const std::size_t row : rows) column.cells.push_back(chosen.text.cells[row]);
    columns.push_back(std::move(column));
    if (tells_cases(chosen) && leading + 1 == columns.size()) ++leading;
  }
  return format_columns(columns, view, leading, breaks_between(cases, rows));
}

std::string format_groups(const RunRecord& run, const Choice& choice, const TableView& view) {
  std::vector<std::size_t> rows(run.cases.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  if (view.by.empty()) return format_group(choice, run.cases, rows, view);
  std::string text;
  for (const CaseGroup& group : groups_by(view.by, run.cases)) {
    std::vector<std::size_t> of_group;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_group),
                 [&](std::size_t row) { return value_on(view.by, run.cases[row]) == group.value; });
    const std::string title =
        fmt::format("{} {}", view.by, group.value.empty() ? kNoValue : one_line(group.value));
    const bool is_markdown = view.style == TableStyle::kMarkdown;
    text += fmt::format("{}{}{}\n{}{}", text.empty() ? "" : "\n", is_markdown ? "### " : "",
                        inked(in_style(title, view), Ink::kStrong, view), is_markdown ? "\n" : "",
                        format_group(choice, run.cases, of_group, view));
  }
  return text;
}

}  // namespace

std::vector<TextColumn> leading_columns(const std::vector<CaseRecord>& of_run,
                                        const std::vector<CaseRecord>& shown) {
  std::vector<TextColumn> columns;
  for (const ChosenColumn& chosen : choose_columns(of_run, {}).columns) {
    if (tells_cases(chosen)) columns.push_back(text_column_of(*chosen.rule, shown));
  }
  if (columns.empty() && !shown.empty()) {
    columns.push_back(text_column_of(case_columns().front(), shown));
  }
  return columns;
}

std::string format_case_table(const RunRecord& run, const TableView& view) {
  const Choice choice = choose_columns(run.cases, view);
  const std::string layers = format_layer_table(run, view);
  return head_of(run, choice, view) + format_groups(run, choice, view) +
         (layers.empty() ? "" : "\n" + layers);
}

}  // namespace sparkbench
