// Which keys a row may see, applied to a tile of scores.
#pragma once

#include <cmath>

#include "kernels/attention.h"
#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// Sets the scores of keys at or past the row's limit to -inf. `visible[slot]` counts the keys that
/// the lane's row may see from the tile's first key on; it may be negative, or past the tile.
template <Accumulator kAccumulator, int kGroups>
SPARK_DEVICE void mask_scores(float (&score)[kGroups][8], int lane,
                              const int (&visible)[RowLayout<kAccumulator>::kRowsPerLane]) {
  using Layout = RowLayout<kAccumulator>;
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
