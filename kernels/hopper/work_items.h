// Which work a block of a launch does: items, each as much as a block would do of a grid that has a
// block for each. A launch that has as many blocks as the GPU holds at once lets each do several,
// so that the warps that load are at the next item's tiles while the others finish the last one's.
#pragma once

#include "kernels/host_device.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// The grid whose blocks the items are, and how many blocks there are for them.
struct ItemGrid {
  int extent[3];
  int blocks;

  SPARK_HD int items() const { return extent[0] * extent[1] * extent[2]; }
};

/// Whether most blocks of rows see about as many keys, so that as many items take as long.
/// Otherwise each is better left to whichever SM is free.
inline bool are_items_alike(const KeyMask& mask) {
  if (mask.seqlen_q == 0) return true;
  const int of_last = mask.keys(mask.seqlen_q - 1).size();
  return mask.keys(mask.seqlen_q / 2).size() > of_last / 4 * 3;
}

/// A Machine whose block() is an item's place in the grid of all items.
template <class Machine>
class ItemMachine : public Machine {
 public:
  explicit SPARK_DEVICE ItemMachine(const Machine& machine, const ItemGrid& grid)
      : Machine(machine), grid_(grid), item_(machine.block(0)) {
    locate();
  }

  SPARK_DEVICE int block(int axis) const { return place_[axis]; }

  SPARK_DEVICE bool is_done() const { return item_ >= grid_.items(); }
  /// To the block's next item. Rounds run to and fro, so that where items become shorter and
  /// shorter no block has the longest of each.
  SPARK_DEVICE void advance() {
    const int of_block = Machine::block(0), last = grid_.blocks - 1;
    item_ += is_forth_ ? 2 * (last - of_block) + 1 : 2 * of_block + 1;
    is_forth_ = !is_forth_;
    locate();
  }

 private:
  SPARK_DEVICE void locate() {
    const int rest = item_ / grid_.extent[0];
    place_[0] = item_ % grid_.extent[0];
    place_[1] = rest % grid_.extent[1];
    place_[2] = rest / grid_.extent[1];
  }

  const ItemGrid& grid_;
  int item_;
  bool is_forth_ = true;
  int place_[3];
};

}  // namespace sparkbench::hopper
