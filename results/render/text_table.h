// A table of text, aligned for a terminal or as markdown.
#pragma once

#include <string>
#include <vector>

namespace sparkbench {

enum class TableStyle { kTerminal, kMarkdown };

struct TextColumn {
  std::string title;
  std::vector<std::string> cells;  // as many as every other column's
  bool right_aligned = true;       // numbers are
};

/// Lines, each ending in a newline; nothing when there is no column.
std::string format_columns(const std::vector<TextColumn>& columns, TableStyle style);

}  // namespace sparkbench
