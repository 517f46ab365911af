// m and l of a warp's rows over the tiles of keys, m raised only where it must be.
//
// The softmax is the same by any m near the largest score so far: P of that score is then not 1,
// but neither overflows nor comes near 0. So m stays until a score exceeds it by so much that P
// would be above 2^kSlackLog2. In most tiles no score does, and nothing is rescaled
// (FlashAttention-4, Zadouri et al.), nor are the row maxima reduced. Whether a score may exceed m
// is a vote over all lanes, each of which checks its own scores. The check may be inexact: 0 may
// stand for scores below it, so that floats are compared as integers, three at a time. Only if the
// vote says so do lanes exchange maxima.
//
// When m of a row rises, and to what, depends on this row's scores and on the tiles that they come
// in, not on the other rows of the warp.
#pragma once

#include "kernels/tile/softmax.h"

namespace sparkbench {

/// m and l of every row, in each lane that holds scores of it; l is over that lane's own keys, as
/// in LaneRows. P is at most 2^kSlackLog2 times 2^kLog2 of Scale, below fp16's 2^16; fp16 is as
/// precise for large P as for small.
template <class Layout, int kGroups, class Scale>
class LazyRows : LaneRows<Layout, kGroups, Scale> {
  using Base = LaneRows<Layout, kGroups, Scale>;

 public:
  using Values = RowValues<Layout, kGroups>;
  static constexpr float kSlackLog2 = 8.0f;
  static_assert(Scale::kLog2 == 0.0f && Scale::kOfHalves == 1.0f, "P is fp16 as it is");

  /// Whether m of a row of the warp may have to rise; the same in all lanes. `largest` has this
  /// lane's largest scores of a tile, or 0 where they are below. Also true for rows whose scores
  /// are all far below 0, or that have seen no key yet.
  template <class Machine>
  SPARK_DEVICE bool may_rise(Machine& machine, const Values& largest, float scale_log2) const {
    bool is_exceeded = false;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        is_exceeded |= exceeds(machine, largest.of[g][slot], this->row_[g][slot], scale_log2);
      }
    }
    return machine.ballot(is_exceeded) != 0;
  }

  /// Raises m of the rows that need it, `largest` being this lane's largest scores. Returns what
  /// earlier outputs are multiplied by, 1 for the other rows.
  template <class Machine>
  SPARK_DEVICE Values raise(Machine& machine, const Values& largest, float scale_log2) {
    Values rescale;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        auto& row = this->row_[g][slot];
        const float of_row = Layout::reduce_row(machine, largest.of[g][slot],
                                                [](float a, float b) { return fmaxf(a, b); });
        rescale.of[g][slot] = row.refer_to(
            machine, exceeds(machine, of_row, row, scale_log2) ? of_row : row.m, scale_log2);
      }
    }
    return rescale;
  }

  /// A tile of scores on its way to probabilities.
  template <class Machine>
  SPARK_DEVICE TileExponentials<Layout, kGroups> exponentials(Machine& machine,
                                                              float scale_log2) const {
    TileExponentials<Layout, kGroups> tile;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        tile.offset.of[g][slot] = this->row_[g][slot].offset_of_exponents(machine, scale_log2);
      }
    }
    tile.sum = this->initial_sum();
    return tile;
  }

  using Base::add;
  using Base::finished;

 private:
  template <class Machine>
  SPARK_DEVICE static bool exceeds(Machine& machine, float score, const RunningRow<Scale>& row,
                                   float scale_log2) {
    return machine.fma(score, scale_log2, row.offset_of_exponents(machine, scale_log2)) >
           Scale::kLog2 + kSlackLog2;
  }
};

}  // namespace sparkbench
