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
  /// Bit r % 32 of word r / 32: whether row r owns its token. What others have of it is not stored,
  /// and nothing depends on it.
  std::uint32_t owned[2];
};

struct RowOrder {
  const OrderedTile* tiles = nullptr;  // of a list's blocks' rows, or keys; null: rows are tokens
  int step[kOrderTileBits] = {1, 2, 4, 8, 16, 32};  // tokens

  /// From a row of a tile to the one that has the bits of `rows`, below 2^kBits, besides.
  template <int kBits = kOrderTileBits>
  SPARK_DEVICE int tokens_to(int rows) const {
    int tokens = 0;
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) tokens += (rows >> bit & 1) * step[bit];
    return tokens;
  }
};

/// Rows from one on, as many as its number has zeros for bits at the end: a power of two, up to a
/// tile's.
struct OrderedRows {
  int token;            // of the first
  std::uint64_t owned;  // bit i: whether row i of them owns its token

  SPARK_HD bool owns(int i) const { return (owned >> i & 1u) != 0; }
};

/// Those from row `first` on, in an order that has tiles.
template <class Machine>
SPARK_DEVICE OrderedRows ordered_rows(Machine& machine, const RowOrder& order, int first) {
  const auto tile = machine.template load_global<Bits128>(order.tiles + first / kOrderTile);
  const int row = first % kOrderTile;
  const std::uint64_t owned = std::uint64_t{tile.word[3]} << 32 | tile.word[2];
  return {static_cast<int>(tile.word[0]) + order.tokens_to(row), owned >> row};
}

/// Whether rows of a launch are no tokens. A Config has kIsSparse.
template <class Config>
SPARK_DEVICE bool has_order(const RowOrder& order) {
  if constexpr (Config::kIsSparse) {
    return order.tiles != nullptr;
  } else {
    return false;
  }
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

  SPARK_DEVICE std::ptrdiff_t halves_to(int rows) const {
    return static_cast<std::ptrdiff_t>(order.tokens_to(rows)) * stride;
  }
};

}  // namespace sparkbench
