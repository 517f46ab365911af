#include "results/render/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "results/record/safe_text.h"

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

/// The columns as they are shown. Others may have written the cells: no newline ends a row early.
std::vector<TextColumn> shown_columns(std::vector<TextColumn> columns, TableStyle style) {
  for (TextColumn& column : columns) {
    for (std::string& cell : column.cells) cell = one_line(cell);
    if (style != TableStyle::kMarkdown) continue;
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

std::string padded(std::string_view cell, const TextColumn& column, std::size_t width) {
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

std::string rule(const TextColumn& column, std::size_t width, TableStyle style) {
  std::string dashes(width, '-');
  if (style == TableStyle::kMarkdown && column.right_aligned) dashes.back() = ':';
  return dashes;
}

}  // namespace

std::string format_columns(const std::vector<TextColumn>& columns, TableStyle style) {
  if (columns.empty()) return "";
  const std::vector<TextColumn> shown = shown_columns(columns, style);
  std::vector<std::size_t> widths;
  std::vector<std::string> titles, rules;
  for (const TextColumn& column : shown) {
    widths.push_back(width_of(column));
    titles.push_back(padded(column.title, column, widths.back()));
    rules.push_back(rule(column, widths.back(), style));
  }
  std::string text = joined(titles, style) + joined(rules, style);
  std::vector<std::string> cells(shown.size());
  for (std::size_t row = 0; row < shown.front().cells.size(); ++row) {
    for (std::size_t i = 0; i < shown.size(); ++i) {
      cells[i] = padded(shown[i].cells[row], shown[i], widths[i]);
    }
    text += joined(cells, style);
  }
  return text;
}

}  // namespace sparkbench
