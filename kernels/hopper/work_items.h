// The persistent tile scheduler: work items, each as large as a block's work in a grid with one
// block per item. A launch with as many blocks as the GPU holds at once gives each several items,
// so that the producer warps load the next item's tiles while the consumers finish the last one's.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// Which items of a grid (rows or keys, heads, batch) are adjacent, and so are done at a time.
enum class ItemOrder {
  kRowsFirst,   // of one head, so that its K and V are read again and again
  kHeadsFirst,  // of the same rows, so that adjacent memory is read together
};

/// The grid whose blocks are the items, and the number of blocks of the launch.
struct ItemGrid {
  int extent[3];
  int blocks;
  ItemOrder order = ItemOrder::kRowsFirst;

  SPARK_HD int items() const { return extent[0] * extent[1] * extent[2]; }
  /// An item's coordinates in the grid, and the item at coordinates. No index is computed:
  /// coordinates are in registers.
  SPARK_HD void locate(int item, int (&place)[3]) const {
    const bool is_heads_first = order == ItemOrder::kHeadsFirst;
    const auto fast = static_cast<unsigned>(is_heads_first ? extent[1] : extent[0]),
               slow = static_cast<unsigned>(is_heads_first ? extent[0] : extent[1]),
               rest = static_cast<unsigned>(item) / fast;
    const int of_fast = static_cast<int>(static_cast<unsigned>(item) % fast),
              of_slow = static_cast<int>(rest % slow);
    place[0] = is_heads_first ? of_slow : of_fast;
    place[1] = is_heads_first ? of_fast : of_slow;
    place[2] = static_cast<int>(rest / slow);
  }
  SPARK_HD int item_at(int x, int y, int z) const {
    return order == ItemOrder::kHeadsFirst ? y + extent[1] * (x + extent[0] * z)
                                           : x + extent[0] * (y + extent[1] * z);
  }
};

/// Part `part` of `parts` equal parts of tiles [0, tiles). The first parts have one more if they do
/// not divide evenly.
SPARK_HD Range part_of_tiles(int tiles, int parts, int part) {
  const int of_each = tiles / parts, rest = tiles % parts;
  const int begin = part * of_each + least_of(part, rest);
  return {begin, begin + of_each + (part < rest ? 1 : 0)};
}

/// Runs per head that minimise the makespan. Each run but a head's first recomputes `lead` tiles;
/// each has a fixed cost.
inline int runs_of_head(int tiles, int heads, int lead, int blocks) {
  constexpr int kBesides = 2, kMostOfBlock = 4;
  int best = 1;
  std::int64_t least = 0;
  for (int runs = 1; runs <= tiles; ++runs) {
    const std::int64_t of_block = (std::int64_t{heads} * runs + blocks - 1) / blocks;
    if (runs > 1 && of_block > kMostOfBlock) break;
    const std::int64_t time =
        of_block * ((tiles + runs - 1) / runs + (runs > 1 ? lead : 0) + kBesides);
    if (runs == 1 || time < least) {
      least = time;
      best = runs;
    }
  }
  return best;
}

/// Whether most blocks of rows see about equally many keys, so that items take equally long.
/// Otherwise the hardware scheduler balances them better.
inline bool are_items_alike(const KeyMask& mask) {
  constexpr int kOneBlock = 128;  // rows, or keys: what a head has is one item
  if (mask.seqlen_q <= kOneBlock) return true;
  const int of_last = mask.keys(mask.seqlen_q - 1).size();
  return mask.keys(mask.seqlen_q / 2).size() > of_last / 4 * 3;
}

/// The faster order: heads first if rows see few keys (items of a head then share little) and a
/// head's columns have less than 256 bytes, so that a DRAM page has those of many heads. By time on
/// an H100 (ladder.md).
inline ItemOrder item_order(const KeyMask& mask, int head_dim) {
  constexpr int kMostKeys = 1024, kWideColumns = 128;
  if (mask.seqlen_q == 0 || head_dim >= kWideColumns || !are_items_alike(mask)) {
    return ItemOrder::kRowsFirst;
  }
  return mask.keys(mask.seqlen_q - 1).size() <= kMostKeys ? ItemOrder::kHeadsFirst
                                                          : ItemOrder::kRowsFirst;
}

/// A Machine whose block() is an item's coordinates in the grid of all items.
template <class Machine>
class ItemMachine : public Machine {
 public:
  explicit SPARK_DEVICE ItemMachine(const Machine& machine, const ItemGrid& grid)
      : Machine(machine), grid_(grid), item_(machine.block(0)) {
    locate();
  }

  SPARK_DEVICE int block(int axis) const { return place_[axis]; }

  SPARK_DEVICE bool is_done() const { return item_ >= grid_.items(); }
  /// Goes on to the block's next item. Rounds alternate in direction, so that with ever shorter
  /// items no block has the longest of each round.
  SPARK_DEVICE void advance() {
    const int of_block = Machine::block(0), last = grid_.blocks - 1;
    item_ += is_forth_ ? 2 * (last - of_block) + 1 : 2 * of_block + 1;
    is_forth_ = !is_forth_;
    locate();
  }

 private:
  SPARK_DEVICE void locate() { grid_.locate(item_, place_); }

  const ItemGrid& grid_;
  int item_;
  bool is_forth_ = true;
  int place_[3];
};

}  // namespace sparkbench::hopper
