// Which keys a row may see, applied to a tile of scores.
#pragma once

#include <cmath>

#include "kernels/attention.h"
#include "kernels/tile/quad_grid.h"

namespace sparkbench {

/// The mask of a problem.
struct KeyMask {
  int seqlen_q, seqlen_k;
  bool causal;

  /// Keys that query `row` may see: the first so many.
  SPARK_HD int visible(int row) const { return visible_keys(row, seqlen_q, seqlen_k, causal); }
};

/// Sets the scores of keys that a row may not see to -inf: the 16 rows from first_row on, the keys
/// from first_key on, in a 2 x 2 grid of quad-pairs.
template <Accumulator kAccumulator, int kSteps>
SPARK_DEVICE void mask_scores(float (&score)[kSteps][8], const KeyMask& mask, int lane,
                              int first_row, int first_key) {
  using Layout = GridLayout<kAccumulator>;
#pragma unroll
  for (int quartet = 0; quartet < kQuartets; ++quartet) {
    const int row = first_row + Layout::row(lane, Layout::slot(quartet));
    const int visible = mask.visible(row) - first_key;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int h = i >> 1, e = i & 1;
        const int key = kGridColumns * step + 8 * h + 2 * Layout::pair(lane, quartet) + e;
        if (key >= visible) score[step][quartet_element(quartet, h, e)] = -INFINITY;
      }
    }
  }
}

}  // namespace sparkbench
