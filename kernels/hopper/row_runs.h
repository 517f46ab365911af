// Row runs: consecutive query tiles of one head for one CTA, where rows see few keys. K/V tiles
// that the next rows also see stay in shared memory if they fit: each is then loaded once per run,
// while the producer warps load new ones.
#pragma once

#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/work_items.h"
#include "kernels/tile/forward_block.h"

namespace sparkbench::hopper {

/// A Machine whose block() is a coordinate in the grid of all blocks of rows, `blocks_of_head` for
/// each head. It goes through those of one run after another, from the first rows to the last. Runs
/// are the items of `runs`.
template <class Machine>
class RunMachine : public ItemMachine<Machine> {
 public:
  using Base = ItemMachine<Machine>;

  /// `is_last_tile_first`: block 0 of the grid has the last rows.
  SPARK_DEVICE RunMachine(const Machine& machine, const ItemGrid& runs, int blocks_of_head,
                          bool is_last_tile_first)
      : Base(machine, runs),
        runs_(runs.extent[0]),
        blocks_of_head_(blocks_of_head),
        step_(is_last_tile_first ? -1 : 1) {
    begin_run();
  }

  SPARK_DEVICE int block(int axis) const { return axis == 0 ? block_ : Base::block(axis); }

  /// Whether the next item's rows follow this one's, in the same head.
  SPARK_DEVICE bool is_followed() const { return left_ > 1; }
  SPARK_DEVICE void advance() {
    block_ += step_;
    if (--left_ > 0) return;
    Base::advance();
    begin_run();
  }

 private:
  SPARK_DEVICE void begin_run() {
    const Range blocks = part_of_tiles(blocks_of_head_, runs_, Base::block(0));
    block_ = step_ < 0 ? blocks.end - 1 : blocks.begin;
    left_ = blocks.size();
  }

  const int runs_, blocks_of_head_, step_;
  int block_, left_;
};

/// Runs of each of `heads` heads for a launch of `blocks` blocks; none without rows.
inline int runs_of_rows(int blocks_of_head, int heads, int blocks) {
  constexpr int kLead = 0;  // a run computes nothing for another's rows
  if (blocks_of_head == 0) return 0;
  return runs_of_head(blocks_of_head, heads, kLead, blocks);
}

/// A block's first item, as its Config has items.
template <class Config, class Machine, class Params>
SPARK_DEVICE auto first_item(Machine& machine, const Params& params) {
  if constexpr (Config::kHasRuns) {
    const int blocks_of_head = (params.mask.seqlen_q + Config::kBlockM - 1) / Config::kBlockM;
    return RunMachine<Machine>(machine, params.grid, blocks_of_head, params.is_last_tile_first);
  } else {
    return ItemMachine<Machine>(machine, params.grid);
  }
}

/// How many of the tiles that an item visits, those of `keys`, stay for the next item: the next
/// one's first tiles, or none unless all of them fit.
template <class Config, class Machine, class Params>
SPARK_DEVICE int kept_tiles(Machine& item, const Params& params, const Range& keys) {
  if constexpr (Config::kHasRuns) {
    static_assert(Config::kBlockN == Config::kTileStart, "tiles of the next rows are the same");
    if (!item.is_followed()) return 0;
    const Range rows = rows_of_block<Config>(item, params);
    const Range next = params.mask.keys_of_any({rows.end, rows.end + Config::kBlockM});
    if (keys.is_empty() || next.is_empty()) return 0;
    const int kept = tile_count<Config>({next.begin, keys.end});
    return kept <= Config::kStages ? kept : 0;
  } else {
    return 0;
  }
}

}  // namespace sparkbench::hopper
