// Where a pattern's rows and keys are among a tensor's tokens. A pattern may number them in an
// order of its own, tile by tile (mask/pattern/grid_order.h); in the order of the sequence row r is
// token r. Kernels find a tile's rows from its first token on, by a step for each bit of their
// number, so that a row's address costs no division.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/machine.h"
#include "kernels/mask/pattern/grid_order.h"

namespace sparkbench {

/// kOrderTile rows.
struct alignas(16) OrderedTile {
  int token;  // of its first row
  int unused;
  /// Bit r % 32 of word r / 32: whether row r owns its token. What others have of it is neither
  /// loaded nor stored.
  std::uint32_t owned[2];
};

struct RowOrder {
  /// Null: of no list, rows are tokens. Of a list the tiles of its blocks' rows, or keys.
  const OrderedTile* tiles = nullptr;
  int step[kOrderTileBits] = {1, 2, 4, 8, 16, 32};  // tokens

  /// From a tile's first row to row `row`; or from a row on, by bits that it has not.
  SPARK_HD int tokens_to(int row) const {
    int tokens = 0;
#pragma unroll
    for (int bit = 0; bit < kOrderTileBits; ++bit) tokens += (row >> bit & 1) * step[bit];
    return tokens;
  }
};

/// Rows of one tile from `row` on.
struct OrderedRows {
  int token;            // of the tile's first row
  int row;              // in the tile
  std::uint64_t owned;  // bit i: of row + i

  SPARK_HD bool owns(int i) const { return (owned >> i & 1u) != 0; }
  SPARK_HD int token_of(const RowOrder& order, int i) const {
    return token + order.tokens_to(row + i);
  }
};

/// Those from row `first` of all on, in an order that has tiles.
template <class Machine>
SPARK_DEVICE OrderedRows load_ordered_rows(Machine& machine, const RowOrder& order, int first) {
  const auto tile = machine.template load_global<Bits128>(order.tiles + first / kOrderTile);
  const int row = first % kOrderTile;
  const std::uint64_t owned = std::uint64_t{tile.word[3]} << 32 | tile.word[2];
  return {static_cast<int>(tile.word[0]), row, owned >> row};
}

/// From a lane's first row of a tile to others, in halves of a tensor.
struct RowsApart {
  int stride;

  SPARK_HD std::ptrdiff_t halves_to(int rows) const {
    return static_cast<std::ptrdiff_t>(rows) * stride;
  }
};
/// The same in an order, by bits that the lane's first row has not.
struct OrderedApart {
  const RowOrder& order;
  int stride;

  SPARK_HD std::ptrdiff_t halves_to(int rows) const {
    return static_cast<std::ptrdiff_t>(order.tokens_to(rows)) * stride;
  }
};

}  // namespace sparkbench
