// A tile of keys by its position in the loop: a key of the sequence, or a position in a pattern's
// list (tile/sparse_list.h).
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/tile/forward_block.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// The first key of the tile at `place`.
template <class Config, class Machine>
SPARK_DEVICE int first_key(Machine& machine, const ForwardParams& params, int place) {
  if constexpr (kIsSparse<Config>) {
    const SparseTile* const tile = tile_of_place<Config::kBlockN>(params.sparse, place);
    return first_of_tile(load_of_list(machine, &tile->first));
  } else {
    return place;
  }
}

/// A tile as a warpgroup sees it: SparseTile::first, and which halves of its keys some row of the
/// warpgroup sees, a bit each. Tiles that are not halved have both or none.
struct WalkedTile {
  static constexpr int kLower = 1, kUpper = 2, kBoth = 3;

  int first;
  int halves;

  SPARK_HD bool is_cut() const { return is_cut_tile(first); }
  SPARK_HD bool is_seen() const { return halves != 0; }
  SPARK_HD bool is_whole() const { return halves == kBoth; }
};
template <class Config, class Machine>
SPARK_DEVICE WalkedTile load_listed_tile(Machine& machine, const ForwardParams& params, int place,
                                         int warpgroup) {
  constexpr int kSeenBits = kWarpgroupRows / 32 * 2;  // two for 32 rows
  const auto tile =
      machine.template load_global<Bits64>(tile_of_place<Config::kBlockN>(params.sparse, place));
  const std::uint32_t seen = tile.word[1] >> (kSeenBits * warpgroup) & ((1u << kSeenBits) - 1u);
  const bool is_seen = machine.uniform(static_cast<int>(seen)) != 0;
  return {static_cast<int>(tile.word[0]), is_seen ? WalkedTile::kBoth : 0};
}

}  // namespace sparkbench::hopper
