// Drawings of a pattern: rows run down, keys to the right. A cell is a pair, or a tile that is
// full, partial or empty.
#pragma once

#include <string>

#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {

/// For one head, at most `most_cells` cells in each direction, two characters each: "##" full, "::"
/// partial, " ." empty. The last line explains a cell.
std::string draw_text(const Pattern& pattern, int head, int most_cells);

/// All per-head patterns under their names, four side by side, at most 256 cells a side each.
std::string draw_svg(const Pattern& pattern, const PatternSpec& spec);

}  // namespace sparkbench
