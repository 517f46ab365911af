#include "harness/cli/mask/mask_cells.h"

#include "kernels/ceil_divide.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

/// Whether the part of a last tile inside the sequence is visible to all of its rows.
bool shows_all(const Pattern& pattern, int head, const Range& rows, const Range& keys) {
  for (int row = rows.begin; row < rows.end; ++row) {
    for (int first = keys.begin; first < keys.end; first += kWordKeys) {
      const std::uint64_t wanted = key_bits(keys, first);
      if ((key_word(pattern, head, row, first) & wanted) != wanted) return false;
    }
  }
  return true;
}

}  // namespace

MaskCells cells_of(const Pattern& pattern, int head, int most_cells) {
  MaskCells cells;
  cells.rows_of_cell = ceil_divide(pattern.seqlen_q, most_cells);
  cells.keys_of_cell = ceil_divide(pattern.seqlen_k, most_cells);
  cells.rows = ceil_divide(pattern.seqlen_q, cells.rows_of_cell);
  cells.columns = ceil_divide(pattern.seqlen_k, cells.keys_of_cell);
  const TilePlan tiles = plan(pattern, head, cells.rows_of_cell, cells.keys_of_cell);
  const int last = cells.columns - 1;
  for (int row = 0; row < cells.rows; ++row) {
    std::vector<CellKind> line(static_cast<std::size_t>(cells.columns), CellKind::kEmpty);
    for (const Span& span : tiles.spans_of(row)) {
      for (int tile = span.begin; tile < span.end; ++tile) {
        line[static_cast<std::size_t>(tile)] = span.cover;
      }
    }
    if (line.back() == CellKind::kCut && pattern.seqlen_k % cells.keys_of_cell != 0) {
      const Range rows = {row * cells.rows_of_cell,
                          least_of((row + 1) * cells.rows_of_cell, pattern.seqlen_q)};
      const Range keys = {last * cells.keys_of_cell, pattern.seqlen_k};
      if (shows_all(pattern, head, rows, keys)) line.back() = CellKind::kFull;
    }
    cells.kinds.insert(cells.kinds.end(), line.begin(), line.end());
  }
  return cells;
}

}  // namespace sparkbench
