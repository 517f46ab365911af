// A pattern in cells, few enough to be drawn.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

using CellKind = TileCover;

struct MaskCells {
  int rows, columns;
  int rows_of_cell, keys_of_cell;
  std::vector<CellKind> kinds;  // row-major

  CellKind at(int row, int column) const {
    return kinds[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                 static_cast<std::size_t>(column)];
  }
};

/// Cells as small as fit into `most_cells` in each direction. A last cell that reaches past the
/// last key is full when all of its keys are visible.
MaskCells cells_of(const Pattern& pattern, int head, int most_cells);

}  // namespace sparkbench
