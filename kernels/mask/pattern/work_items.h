// A plan's work in items, longest first: the rule by which a tile of rows that visits many more
// tiles than others (global rows, and keys backward) is several blocks' work, and how well slots
// share items. Without it these would be computed long after the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// A part has at most so many keys, or as many as tiles of rows visit in the mean.
inline constexpr int kColumnsOfPart = 2048;
/// Only tiles of rows that visit more than so many times the mean are split: the results of parts
/// are stored and read once more, and what all rows are is no imbalance.
inline constexpr int kTimesOfMean = 4;

/// Of a tile of rows that visits `tiles` tiles of `keys` keys, where all visit `mean`: 1, or as few
/// as have no more than a part may.
int parts_of_row_tile(int tiles, double mean, int keys);

/// Of each tile of rows, alike for all unions: by the one that visits most. Who splits by the
/// mask alone, whatever heads, batch and GPU are, has the same bits for each entry of a batch and
/// on each GPU. At least one plan.
std::vector<int> parts_of_row_tiles(std::span<const TilePlan> plans);

/// Some of the tiles that a tile of rows visits, counted in the order of its spans. The parts of a
/// tile of rows are merged by their log-sum-exp.
struct TileItem {
  int head, row_tile;
  int first, tiles;
  int part, parts;
};

/// Of all heads, head h by plans[h % plans.size()]. Tiles of rows are split into
/// parts_of_row_tiles(), as equal as possible, or not at all; an item without tiles is none.
/// Longest first, else by head and row.
std::vector<TileItem> work_items(std::span<const TilePlan> plans, int heads, bool splits);

/// How long slots, which take the next item when they are done with one, take for all: in tiles.
struct Balance {
  std::uint64_t makespan = 0;  // until the last is done
  double mean = 0.0;           // of all slots' work

  double ratio() const { return mean > 0.0 ? static_cast<double>(makespan) / mean : 1.0; }
};
/// In the order of the items. At least one slot.
Balance balance_of(std::span<const TileItem> items, int slots);

}  // namespace sparkbench
