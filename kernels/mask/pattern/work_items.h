// A plan's work in items of bounded length, longest first: a row of tiles that is longer than
// others (global rows) would else be computed long after the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// Some of the tiles that a tile of rows visits, counted in the order of its spans. The parts of a
/// tile of rows are merged by their log-sum-exp.
struct WorkItem {
  int head, row_tile;
  int first, tiles;
  int part, parts;
};

/// Of all heads, head h by plans[h % plans.size()]. A tile of rows with more than `most_tiles` is
/// split into as few parts as possible, as equal as possible; one that visits none has no item.
/// Longest first, else by head and row. 0: nothing is split. Throws std::invalid_argument for less.
std::vector<WorkItem> work_items(std::span<const TilePlan> plans, int heads, int most_tiles);

/// How long slots, which take the next item when they are done with one, take for all: in tiles.
struct Balance {
  std::uint64_t makespan = 0;  // until the last is done
  double mean = 0.0;           // of all slots' work

  double ratio() const { return mean > 0.0 ? static_cast<double>(makespan) / mean : 1.0; }
};
/// In the order of the items. At least one slot.
Balance balance_of(std::span<const WorkItem> items, int slots);

}  // namespace sparkbench
