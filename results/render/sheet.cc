#include "results/render/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "kernels/base/split_text.h"
#include "results/record/safe_text.h"

namespace sparkbench {
namespace {

constexpr std::string_view kAll = "all", kNothing = "-", kVaries = "*";

using Parts = std::vector<std::string_view>;

std::string in_a_line(const std::string& title) {
  std::string line = title;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

bool is_empty(const TextColumn& column) {
  return std::all_of(column.cells.begin(), column.cells.end(),
                     [](const std::string& cell) { return cell == kNothing || cell.empty(); });
}

bool is_shared(const TextColumn& column) {
  return column.cells.size() > 1 && std::adjacent_find(column.cells.begin(), column.cells.end(),
                                                       std::not_equal_to<>()) == column.cells.end();
}

/// Cuts the common beginning of all names, up to a slash, and returns it. If all names have the
/// same number of parts, common parts in the middle are cut too.
std::string cut_shared_parts(std::vector<std::string>& names) {
  if (names.size() < 2) return "";
  std::vector<Parts> parts;
  parts.reserve(names.size());
  for (const std::string& name : names) parts.push_back(split_text(name, '/'));
  std::size_t fewest = parts[0].size();
  for (const Parts& each : parts) fewest = std::min(fewest, each.size());
  const bool are_alike = std::all_of(parts.begin(), parts.end(), [&](const Parts& each) {
    return each.size() == parts[0].size();
  });
  const auto varies = [&](std::size_t i) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Parts& each) { return each[i] != parts[0][i]; });
  };
  std::vector<bool> is_kept(parts[0].size(), true);
  std::string shared;
  for (std::size_t i = 0; i < fewest; ++i) {
    const bool is_last = !are_alike && i + 1 == fewest;
    if (!are_alike && varies(i)) break;
    is_kept[i] = varies(i) || is_last;
    shared += fmt::format("{}{}", i == 0 ? "" : "/", is_kept[i] ? kVaries : parts[0][i]);
    if (is_last) break;
  }
  if (!are_alike && !shared.ends_with(kVaries)) shared += fmt::format("/{}", kVaries);
  if (std::count(is_kept.begin(), is_kept.end(), false) == 0) return "";
  std::vector<std::string> cut;
  for (const Parts& each : parts) {
    Parts kept;
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (i >= is_kept.size() || is_kept[i]) kept.push_back(each[i]);
    }
    if (kept.empty()) return "";  // two rows with one name
    cut.push_back(fmt::format("{}", fmt::join(kept, "/")));
  }
  names = std::move(cut);
  return shared;
}

bool is_asked_for(const TableView& view, std::string_view name) {
  return std::find(view.columns.begin(), view.columns.end(), name) != view.columns.end();
}

std::vector<TextColumn> named_columns(const Sheet& sheet, const TableView& view) {
  std::vector<TextColumn> columns;
  for (const std::string& name : view.columns) {
    const auto found = std::find_if(sheet.columns.begin() + 1, sheet.columns.end(),
                                    [&](const SheetColumn& each) { return each.name == name; });
    if (found != sheet.columns.end()) columns.push_back(found->text);
  }
  if (!columns.empty()) columns.insert(columns.begin(), sheet.columns.front().text);
  return columns;
}

}  // namespace

std::vector<std::string> column_names(std::span<const Sheet> sheets) {
  std::vector<std::string> names;
  for (const Sheet& sheet : sheets) {
    for (const SheetColumn& column : sheet.columns) {
      if (std::find(names.begin(), names.end(), column.name) == names.end()) {
        names.push_back(column.name);
      }
    }
  }
  names.emplace_back(kAll);
  return names;
}

std::string format_sheet(const Sheet& sheet, const TableView& view) {
  std::vector<TextColumn> columns;
  std::vector<std::string> shared;
  if (is_asked_for(view, kAll)) {
    for (const SheetColumn& column : sheet.columns) columns.push_back(column.text);
  } else if (!view.columns.empty()) {
    columns = named_columns(sheet, view);
    if (columns.empty()) return "";
  } else {
    for (const SheetColumn& column : sheet.columns) {
      const bool is_first = &column == sheet.columns.data();
      if (!is_first && is_empty(column.text)) continue;
      if (is_first || !is_shared(column.text)) {
        columns.push_back(column.text);
      } else {
        shared.push_back(
            fmt::format("{} {}", in_a_line(column.text.title), column.text.cells.front()));
      }
    }
    const std::string parts = cut_shared_parts(columns.front().cells);
    if (!parts.empty()) shared.insert(shared.begin(), columns.front().title + " " + parts);
  }
  std::string head = sheet.title;
  if (!shared.empty()) {
    head += fmt::format("{}{}", head.empty() ? "" : ": ", fmt::join(shared, ", "));
  }
  if (!head.empty()) head += "\n\n";
  return wrapped(printable(head), view) + format_columns(columns, view);
}

}  // namespace sparkbench
