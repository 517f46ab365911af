// A plan's work in items, longest first. A tile of rows that visits many more tiles than others
// (global rows, and keys backward) is split over several blocks (split-KV); without that it would
// still run long after the rest. Also tells how well slots share the items.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// Most keys of a split, unless tiles of rows visit more in the mean.
inline constexpr int kColumnsOfPart = 2048;
/// Only tiles of rows that visit more than so many times the mean are split: splits store and
/// reload their results, and if all rows are long there is no imbalance.
inline constexpr int kTimesOfMean = 4;

/// Splits of a tile of rows that visits `tiles` tiles of `keys` keys, where the mean is `mean`: 1,
/// or the fewest that keep each split within its limit.
int parts_of_row_tile(int tiles, double mean, int keys);

/// Splits of each tile of rows, alike for all heads, by the head that visits most tiles. They
/// depend only on the mask, not on the heads, batch or GPU, so that results have the same bits for
/// each entry of a batch and on each GPU. At least one plan.
std::vector<int> parts_of_row_tiles(std::span<const TilePlan> plans);

/// Some of the tiles that a tile of rows visits, counted in the order of its spans. The splits of a
/// tile of rows are combined by their log-sum-exp.
struct TileItem {
  int head, row_tile;
  int first, tiles;
  int part, parts;
};

/// The work of all heads, head h by plans[h % plans.size()]. If `splits`, tiles of rows are split
/// as parts_of_row_tiles() says, as equally as possible. Items without tiles are left out. Longest
/// first, then by head and row.
std::vector<TileItem> work_items(std::span<const TilePlan> plans, int heads, bool splits);

/// How long slots take that each take the next item when they finish one, in tiles.
struct Balance {
  std::uint64_t makespan = 0;  // until the last is done
  double mean = 0.0;           // of all slots' work

  double ratio() const { return mean > 0.0 ? static_cast<double>(makespan) / mean : 1.0; }
};
/// In the order of the items. At least one slot.
Balance balance_of(std::span<const TileItem> items, int slots);

}  // namespace sparkbench
