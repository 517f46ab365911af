// Operands of a product that are the same for every tile of a loop, kept in registers (as FA's
// Q_in_regs).
#pragma once

#include "kernels/volta/tile/grid_matmul.h"

namespace sparkbench::volta {

/// The first kChunks chunks of a warp's rows of a tile, kGroups times 16 of them: operands of S or
/// dP.
template <int kChunks, int kGroups>
struct KeptChunks {
  /// `place` is the lane's offset in the first of the rows.
  template <class Machine, class Tile>
  SPARK_DEVICE void load(Machine& machine, Tile& tile, const typename Tile::LanePlace& place) {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        bits_[chunk][group] =
            machine.template load_shared<Bits128>(tile.at(place, kGridRows * group, chunk));
      }
    }
  }
  SPARK_DEVICE static bool has(int chunk) { return chunk < kChunks; }
  SPARK_DEVICE const Bits128& at(int group, int chunk) const { return bits_[chunk][group]; }

 private:
  static_assert(kGridRows == kGridColumns, "groups of rows are steps of keys");

  Bits128 bits_[kChunks][kGroups];
};
template <int kGroups>
struct KeptChunks<0, kGroups> {
  template <class Machine, class Tile>
  SPARK_DEVICE void load(Machine&, Tile&, const typename Tile::LanePlace&) {}
  SPARK_DEVICE static bool has(int) { return false; }
  SPARK_DEVICE Bits128 at(int, int) const { return {}; }
};

}  // namespace sparkbench::volta
