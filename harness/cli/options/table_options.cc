#include "harness/cli/options/table_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "harness/cli/options/terminal.h"
#include "results/render/case_columns.h"
#include "results/study/case_filter.h"
#include "sweeps/list_flag.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr const char* kTableGroup = "Table";
constexpr int kLeastWidth = 20, kMostWidth = 10000;
/// For a pipe or a file: the width of most editors and log pages.
constexpr int kWidthOfAPipe = 120;

std::optional<int> width_of_text(std::string_view text) {
  int width = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  const bool is_taken = error == std::errc() && stop == text.data() + text.size() &&
                        width >= kLeastWidth && width <= kMostWidth;
  return is_taken ? std::optional(width) : std::nullopt;
}

/// The value that a shell exports. Anything but a number is ignored, as in other programs.
std::optional<int> width_of_environment() {
  const char* const columns = std::getenv("COLUMNS");
  return columns == nullptr ? std::nullopt : width_of_text(columns);
}

/// The column of the axis with that name in --where and --by; "" if there is none.
std::string column_of_axis(std::string_view typed) {
  const Axis* const axis = find_choosing_axis(typed);
  for (const CaseColumn& column : case_columns()) {
    if (axis != nullptr && column.axis != nullptr &&
        std::string_view(column.axis->name) == axis->name) {
      return column.name;
    }
  }
  return "";
}

std::vector<std::string> named_columns(const TableOptions& options) {
  std::vector<std::string> names;
  if (options.columns.empty()) return names;
  const std::vector<std::string> known =
      options.known.empty() ? case_column_names() : options.known;
  for (const std::string_view typed : split_list("--columns", options.columns)) {
    const bool is_known = std::find(known.begin(), known.end(), typed) != known.end();
    const std::string of_axis = options.known.empty() ? column_of_axis(typed) : "";
    if (!is_known && of_axis.empty()) {
      throw UsageError(unknown_name_message("--columns", typed, known));
    }
    names.push_back(is_known ? std::string(typed) : of_axis);
  }
  return names;
}

void add_columns_flag(CLI::App& command, TableOptions& options, const std::string& help) {
  command.add_option("--columns", options.columns, help)->group(kTableGroup)->type_name("LIST");
}

}  // namespace

void add_width_flag(CLI::App& command, TableOptions& options) {
  command
      .add_option_function<std::string>(
          "--width",
          [&options](const std::string& text) {
            options.width = width_of_text(text);
            if (options.width) return;
            throw UsageError(fmt::format("--width: '{}' is not a whole number from {} to {}", text,
                                         kLeastWidth, kMostWidth));
          },
          fmt::format("characters per line; default: COLUMNS, else the terminal's width, else {}",
                      kWidthOfAPipe))
      ->group(kTableGroup)
      ->type_name("N");
}

void add_sheet_flags(CLI::App& command, TableOptions& options, std::vector<std::string> known) {
  options.known = std::move(known);
  add_columns_flag(
      command, options,
      fmt::format("columns of the tables, in this order, from: {}; default: those that vary",
                  fmt::join(options.known, ", ")));
  add_width_flag(command, options);
}

void add_table_flags(CLI::App& command, TableOptions& options, TableFlags flags) {
  if (flags.has_columns) {
    add_columns_flag(command, options,
                     fmt::format("columns of the table, in this order, from: {}; default: the most "
                                 "important that vary and fit",
                                 fmt::join(case_column_names(), ", ")));
  }
  command
      .add_option("--where", options.where,
                  fmt::format("show only cases with that value, such as mask=causal or "
                              "kernel='volta-*'; may be repeated; axes: {}",
                              fmt::join(choosing_axes(), ", ")))
      ->group(kTableGroup)
      ->type_name("AXIS=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--by", options.by, "one table per value of that axis")
      ->group(kTableGroup)
      ->type_name("AXIS");
  add_width_flag(command, options);
}

void check_table_flags(const TableOptions& options) {
  named_columns(options);
  check_conditions(options.where);
  if (!options.by.empty()) choosing_axis("--by", options.by);
}

TableView table_view(const TableOptions& options, const std::ostream& stream) {
  TableView view;
  view.columns = named_columns(options);
  if (!options.by.empty()) view.by = choosing_axis("--by", options.by);
  const std::optional<int> terminal = terminal_width(stream);
  view.width = options.width;
  if (!view.width) view.width = width_of_environment();
  if (!view.width) view.width = terminal;
  view.wraps_text = view.width.has_value();
  if (!view.width) view.width = kWidthOfAPipe;
  view.has_color = has_terminal_color(stream);
  return view;
}

RunRecord shown_part(const TableOptions& options, RunRecord run) {
  if (!options.where.empty()) run.cases = cases_where(options.where, run.cases);
  return run;
}

}  // namespace sparkbench
