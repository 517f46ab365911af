// A text table, aligned for a terminal or as markdown.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

enum class TableStyle { kTerminal, kMarkdown };

/// Colours for a terminal.
enum class Ink { kPlain, kStrong, kGood, kDoubtful, kBad };

/// The target of tables and their layout.
struct TableView {
  TableStyle style = TableStyle::kTerminal;
  std::optional<int> width = {};          // characters per line; none: unlimited
  bool wraps_text = false;                // also breaks sentences at the width
  bool has_color = false;                 // a terminal with ANSI codes
  std::vector<std::string> columns = {};  // of the cases' table, by name; empty: the default choice
  std::string by = {};                    // an axis (case_filter.h) with a table per value
};

struct TextColumn {
  std::string title;               // several lines if it has newlines
  std::vector<std::string> cells;  // as many as in every other column
  bool right_aligned = true;       // for numbers
  Ink (*ink)(std::string_view cell) = nullptr;
};

/// In the view's style; for markdown by markdown_text().
std::string in_style(std::string text, const TableView& view);

/// Spaces between two columns of a terminal's table: two if they fit, else one.
inline constexpr int kColumnGap = 2, kNarrowGap = 1;

/// Width of the column's widest line.
int width_of(const TextColumn& column);

/// Lines, each ending in a newline; "" without columns. A terminal's table that is wider than the
/// view is split into blocks, each of which repeats the first `leading` columns. Cells that are
/// still too long are broken into lines; a title may still be wider. In a terminal's table an empty
/// line precedes each of the rows `breaks`.
std::string format_columns(const std::vector<TextColumn>& columns, const TableView& view,
                           std::size_t leading = 1, const std::vector<std::size_t>& breaks = {});

/// `text` in that colour if the view has colours.
std::string inked(std::string_view text, Ink ink, const TableView& view);

/// Breaks lines that are wider than the view at spaces, if it wraps text; continuation lines are
/// indented by two. An indented line, which is to be copied, stays whole.
std::string wrapped(std::string_view text, const TableView& view);

struct Fact {
  std::string name, text;
};

/// "  name   text", one per line, with aligned texts. Names take at least `name_width` columns. A
/// text that is too long continues below its start or, if the names leave too little room, indented
/// by four.
std::string format_facts(std::span<const Fact> facts, const TableView& view, int name_width = 0);

}  // namespace sparkbench
