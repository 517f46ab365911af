// A table of text, aligned for a terminal or as markdown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

enum class TableStyle { kTerminal, kMarkdown };

/// What a terminal may colour.
enum class Ink { kPlain, kStrong, kGood, kDoubtful, kBad };

/// How to show tables, and to whom.
struct TableView {
  TableStyle style = TableStyle::kTerminal;
  std::optional<int> width = {};          // characters of a line; none: as wide as it comes
  bool wraps_text = false;                // sentences too are broken at the width
  bool has_color = false;                 // a terminal that obeys ANSI codes
  std::vector<std::string> columns = {};  // of the cases' table, by name; empty: what matters
  std::string by = {};                    // an axis (results/study/case_filter.h): a table a value
};

struct TextColumn {
  std::string title;               // of several lines, if it has newlines
  std::vector<std::string> cells;  // as many as every other column's
  bool right_aligned = true;       // numbers are
  Ink (*ink)(std::string_view cell) = nullptr;
};

/// As the view's style has it: in markdown by markdown_text().
std::string in_style(std::string text, const TableView& view);

/// Between two columns of a terminal's table: two spaces where they fit, or else one.
inline constexpr int kColumnGap = 2, kNarrowGap = 1;

/// Characters that the column takes: of its widest line.
int width_of(const TextColumn& column);

/// Lines, each ending in a newline; nothing when there is no column. A terminal's table wider than
/// the view comes in blocks below each other, each of which begins with the first `leading` columns
/// again. Cells that are too long even so come in several lines; a title may still be wider. An
/// empty line stands before each of the rows `breaks` of a terminal's table.
std::string format_columns(const std::vector<TextColumn>& columns, const TableView& view,
                           std::size_t leading = 1, const std::vector<std::size_t>& breaks = {});

/// `text` in that ink where the view has colour.
std::string inked(std::string_view text, Ink ink, const TableView& view);

/// Lines that are wider than the view are broken at spaces, if it wraps text; what follows of such
/// a line is indented by two. An indented line, one to be copied, stays whole.
std::string wrapped(std::string_view text, const TableView& view);

}  // namespace sparkbench
