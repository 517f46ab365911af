#include "results/render/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace sparkbench {
namespace {

/// A bar would end a markdown cell.
std::string escaped(const std::string& cell) {
  std::string text;
  for (const char character : cell) {
    if (character == '|') text += '\\';
    text += character;
  }
  return text;
}

std::vector<TextColumn> escaped(std::vector<TextColumn> columns) {
  for (TextColumn& column : columns) {
    column.title = escaped(column.title);
    for (std::string& cell : column.cells) cell = escaped(cell);
  }
  return columns;
}

std::size_t width_of(const TextColumn& column) {
  std::size_t width = column.title.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

std::string padded(std::string_view cell, const TextColumn& column) {
  const std::size_t width = width_of(column);
  return column.right_aligned ? fmt::format("{:>{}}", cell, width)
                              : fmt::format("{:<{}}", cell, width);
}

/// The cells of one line; spaces at its end are left out.
std::string joined(const std::vector<std::string>& cells, TableStyle style) {
  const bool is_markdown = style == TableStyle::kMarkdown;
  std::string line = is_markdown ? "| " : "";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += is_markdown ? " | " : "  ";
    line += cells[i];
  }
  if (is_markdown) return line + " |\n";
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string rule(const TextColumn& column, TableStyle style) {
  std::string dashes(width_of(column), '-');
  if (style == TableStyle::kMarkdown && column.right_aligned) dashes.back() = ':';
  return dashes;
}

}  // namespace

std::string format_columns(const std::vector<TextColumn>& columns, TableStyle style) {
  if (columns.empty()) return "";
  const std::vector<TextColumn> shown = style == TableStyle::kMarkdown ? escaped(columns) : columns;
  std::vector<std::string> titles, rules;
  for (const TextColumn& column : shown) {
    titles.push_back(padded(column.title, column));
    rules.push_back(rule(column, style));
  }
  std::string text = joined(titles, style) + joined(rules, style);
  for (std::size_t row = 0; row < shown.front().cells.size(); ++row) {
    std::vector<std::string> cells(shown.size());
    std::transform(shown.begin(), shown.end(), cells.begin(),
                   [row](const TextColumn& column) { return padded(column.cells[row], column); });
    text += joined(cells, style);
  }
  return text;
}

}  // namespace sparkbench
