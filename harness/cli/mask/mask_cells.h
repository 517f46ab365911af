// A pattern as a grid of cells, small enough to draw.
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

/// The smallest cells that fit into `most_cells` in each direction. A last cell that extends past
/// the last key is full if all of its keys are visible.
MaskCells cells_of(const Pattern& pattern, int head, int most_cells);

}  // namespace sparkbench
