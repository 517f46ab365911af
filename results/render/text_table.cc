#include "results/render/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/record/safe_text.h"
#include "results/render/broken_text.h"

namespace sparkbench {
namespace {

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

/// "error/unfused" and "TFLOP/s", but "time ms".
std::string title_in_a_line(std::string title) {
  for (std::size_t end = title.find('\n'); end != std::string::npos; end = title.find('\n')) {
    const bool is_at_slash = (end > 0 && title[end - 1] == '/') || title[end + 1] == '/';
    title[end] = ' ';
    if (is_at_slash) title.erase(end, 1);
  }
  return one_line(title);
}

/// The columns in their final form. Cells may come from outside: no newline may end a row early.
std::vector<TextColumn> shown_columns(std::vector<TextColumn> columns, TableStyle style) {
  for (TextColumn& column : columns) {
    column.title = printable(column.title);
    for (std::string& cell : column.cells) cell = one_line(cell);
    if (style != TableStyle::kMarkdown) continue;
    column.title = markdown_text(title_in_a_line(column.title));
    for (std::string& cell : column.cells) cell = markdown_text(cell);
  }
  return columns;
}

std::string padded(std::string_view cell, const TextColumn& column, int width) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - characters_in(cell))), ' ');
  return column.right_aligned ? space + std::string(cell) : std::string(cell) + space;
}

/// The cells of one line, without trailing spaces.
std::string joined(const std::vector<std::string>& cells, TableStyle style, int gap) {
  const bool is_markdown = style == TableStyle::kMarkdown;
  std::string line = is_markdown ? "| " : "";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += is_markdown ? " | " : std::string(static_cast<std::size_t>(gap), ' ');
    line += cells[i];
  }
  if (is_markdown) return line + " |\n";
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string dashes_below(const TextColumn& column, int width, TableStyle style) {
  std::string dashes(static_cast<std::size_t>(width), '-');
  if (style == TableStyle::kMarkdown && column.right_aligned) dashes.back() = ':';
  return dashes;
}

/// The lines of the titles, aligned at the bottom.
std::string format_titles(const std::vector<TextColumn>& columns, const std::vector<int>& widths,
                          const TableView& view, int gap) {
  std::size_t height = 1;
  for (const TextColumn& column : columns) {
    height = std::max(height, lines_in(column.title).size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string> titles;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::vector<std::string> lines = lines_in(columns[i].title);
      const std::size_t above = height - lines.size();
      titles.push_back(padded(line < above ? "" : lines[line - above], columns[i], widths[i]));
    }
    std::string whole = joined(titles, view.style, gap);
    whole.pop_back();
    text += inked(whole, Ink::kStrong, view) + "\n";
  }
  return text;
}

int gap_of(const std::vector<int>& widths, const TableView& view) {
  int width = -kColumnGap;
  for (const int each : widths) width += each + kColumnGap;
  return view.width && width > *view.width ? kNarrowGap : kColumnGap;
}

struct TableLine {
  std::size_t row, line;  // the line within a row whose cells have several lines
};

std::vector<std::string> cells_of_line(const std::vector<TextColumn>& columns,
                                       const std::vector<int>& widths, const TableLine& at,
                                       const TableView& view) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = columns[i].cells[at.row];
    const std::vector<std::string> lines = lines_in(cell);
    const Ink ink = columns[i].ink == nullptr ? Ink::kPlain : columns[i].ink(cell);
    cells.push_back(
        inked(padded(at.line < lines.size() ? lines[at.line] : "", columns[i], widths[i]),
              at.line < lines.size() ? ink : Ink::kPlain, view));
  }
  return cells;
}

/// Breaks cells longer than `most`, or longer than a narrow column, into several lines.
void break_cells(TextColumn& column, int most) {
  constexpr int kNarrow = 16;  // for a name, or for a number with its uncertainty
  most = std::max(most, kNarrow);
  for (std::string& cell : column.cells) {
    if (characters_in(cell) <= most) continue;
    cell = fmt::format("{}", fmt::join(broken(cell, most, column.right_aligned ? 0 : 2), "\n"));
  }
}

std::string format_block(const std::vector<TextColumn>& columns, const TableView& view,
                         const std::vector<std::size_t>& breaks) {
  std::vector<int> widths;
  std::vector<std::string> rules;
  for (const TextColumn& column : columns) {
    widths.push_back(width_of(column));
    rules.push_back(dashes_below(column, widths.back(), view.style));
  }
  const int gap = gap_of(widths, view);
  std::string text = format_titles(columns, widths, view, gap) + joined(rules, view.style, gap);
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    const bool is_broken = std::find(breaks.begin(), breaks.end(), row) != breaks.end();
    if (is_broken && view.style == TableStyle::kTerminal) text += '\n';
    std::size_t height = 1;
    for (const TextColumn& column : columns) {
      height = std::max(height, lines_in(column.cells[row]).size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      text += joined(cells_of_line(columns, widths, {row, line}, view), view.style, gap);
    }
  }
  return text;
}

/// Breaks columns that are too wide into lines within their cells. The leading columns of each
/// block may take two fifths of a line, or what the others leave.
void narrow(std::vector<TextColumn>& columns, std::size_t leading, const TableView& view) {
  if (!view.width || view.style == TableStyle::kMarkdown) return;
  const auto room_beside = [&](std::size_t first, std::size_t end, std::size_t column) {
    int room = *view.width;
    for (std::size_t i = first; i < end; ++i) {
      if (i != column) room -= width_of(columns[i]) + kNarrowGap;
    }
    return room;
  };
  const std::size_t all = columns.size();
  if (room_beside(0, all, 0) >= width_of(columns.front())) return;
  for (std::size_t i = leading; i-- > 0;) {
    break_cells(columns[i], std::max(room_beside(0, all, i), *view.width * 2 / 5));
  }
  const int room = room_beside(0, leading, all);
  for (std::size_t i = leading; i < columns.size(); ++i) break_cells(columns[i], room);
}

/// As many columns from `from` on as fit after the leading ones, and at least one.
std::size_t end_of_block(const std::vector<TextColumn>& columns, std::size_t leading,
                         std::size_t from, const TableView& view) {
  if (!view.width || view.style == TableStyle::kMarkdown) return columns.size();
  int width = 0;
  for (std::size_t i = 0; i < leading; ++i) width += width_of(columns[i]) + kNarrowGap;
  std::size_t end = from;
  while (end < columns.size()) {
    width += width_of(columns[end]);
    if (width > *view.width && end > from) break;
    width += kNarrowGap;
    ++end;
  }
  return end;
}

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kStrong:
      return "\x1b[1m";
    case Ink::kGood:
      return "\x1b[32m";
    case Ink::kDoubtful:
      return "\x1b[33m";
    case Ink::kBad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string in_style(std::string text, const TableView& view) {
  return view.style == TableStyle::kMarkdown ? markdown_text(text) : std::move(text);
}

int width_of(const TextColumn& column) {
  int width = 0;
  for (const std::string& line : lines_in(column.title)) {
    width = std::max(width, characters_in(line));
  }
  for (const std::string& cell : column.cells) {
    for (const std::string& line : lines_in(cell)) width = std::max(width, characters_in(line));
  }
  return width;
}

std::string format_columns(const std::vector<TextColumn>& columns, const TableView& view,
                           std::size_t leading, const std::vector<std::size_t>& breaks) {
  if (columns.empty()) return "";
  std::vector<TextColumn> shown = shown_columns(columns, view.style);
  leading = std::min(leading, shown.size() - 1);
  narrow(shown, leading, view);
  std::string text;
  for (std::size_t from = leading; from < shown.size();) {
    const std::size_t end = end_of_block(shown, leading, from, view);
    std::vector<TextColumn> block(shown.begin(),
                                  shown.begin() + static_cast<std::ptrdiff_t>(leading));
    block.insert(block.end(), shown.begin() + static_cast<std::ptrdiff_t>(from),
                 shown.begin() + static_cast<std::ptrdiff_t>(end));
    if (!text.empty()) text += '\n';
    text += format_block(block, view, breaks);
    from = end;
  }
  return text;
}

std::string inked(std::string_view text, Ink ink, const TableView& view) {
  if (!view.has_color || ink == Ink::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", code_of(ink), text);
}

std::string wrapped(std::string_view text, const TableView& view) {
  if (!view.wraps_text || !view.width || view.style == TableStyle::kMarkdown) {
    return std::string(text);
  }
  std::string result;
  for (const std::string& line : lines_in(text)) {
    if (line.starts_with(' ')) {
      result += line + "\n";
    } else {
      result += fmt::format("{}\n", fmt::join(broken(line, *view.width, 2, Words::kWhole), "\n"));
    }
  }
  result.pop_back();  // after the last line, whether or not it ends in a newline
  return result;
}

std::string format_facts(std::span<const Fact> facts, const TableView& view, int name_width) {
  constexpr int kIndent = 2, kDeepIndent = 4, kLeastRoom = 24;
  int width = name_width;
  for (const Fact& fact : facts) width = std::max(width, characters_in(one_line(fact.name)));
  const int begin = kIndent + width + 1;
  const int end = view.width.value_or(0);
  const bool is_narrow = end - begin < kLeastRoom;
  std::string text;
  for (const Fact& fact : facts) {
    const std::string name = one_line(fact.name);
    const std::string space(static_cast<std::size_t>(width - characters_in(name)), ' ');
    std::string line = fmt::format("{:{}}{}{} {}", "", kIndent, name, space, one_line(fact.text));
    line.erase(line.find_last_not_of(' ') + 1);
    const int indent = is_narrow ? kDeepIndent : begin;
    const std::vector<std::string> lines =
        end == 0 ? std::vector<std::string>{line} : broken(line, end, indent);
    text += fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  return text;
}

}  // namespace sparkbench
