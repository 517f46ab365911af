// Which keys a row may see, applied to a tile of scores.
#pragma once

#include <cmath>

#include "kernels/attention.h"
#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// The mask of a problem.
struct KeyMask {
  int seqlen_q, seqlen_k;
  bool causal;

  /// Keys that query `row` may see: the first so many.
  SPARK_HD int visible(int row) const { return visible_keys(row, seqlen_q, seqlen_k, causal); }
};

/// Sets the scores of keys that a row may not see to -inf. `first_row` is the warp's first query,
/// `first_key` the tile's first key.
template <Accumulator kAccumulator, int kGroups>
SPARK_DEVICE void mask_scores(float (&score)[kGroups][8], const KeyMask& mask, int lane,
                              int first_row, int first_key) {
  using Layout = RowLayout<kAccumulator>;
  int visible[Layout::kRowsPerLane];  // from first_key on
#pragma unroll
  for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
    visible[slot] = mask.visible(first_row + Layout::row(lane, slot)) - first_key;
  }
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int column = 8 * group + Layout::column(lane, i);
      if (column >= visible[Layout::slot(i)]) score[group][i] = -INFINITY;
    }
  }
}

}  // namespace sparkbench
