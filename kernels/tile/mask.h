// Which keys a row may see, applied to a tile of scores.
#pragma once

#include <cmath>

#include "kernels/mask/key_mask.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

/// Calls hide(step, element) for each score of a key that its row may not see: the 16 rows from
/// first_row on, kSteps steps of keys from first_key on, in a 2 x 2 grid of quad-pairs.
template <Accumulator kAccumulator, int kSteps, class Hide>
SPARK_DEVICE void hide_scores(const KeyMask& mask, int lane, int first_row, int first_key,
                              Hide hide) {
  using Layout = GridLayout<kAccumulator>;
#pragma unroll
  for (int quartet = 0; quartet < kQuartets; ++quartet) {
    const int row = first_row + Layout::row(lane, Layout::slot(quartet));
    const int visible = mask.keys(row).end - first_key;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int h = i >> 1, e = i & 1;
        const int key = kGridColumns * step + 8 * h + 2 * Layout::pair(lane, quartet) + e;
        if (key >= visible) hide(step, quartet_element(quartet, h, e));
      }
    }
  }
}

/// Sets these scores to -inf.
template <Accumulator kAccumulator, int kSteps>
SPARK_DEVICE void mask_scores(float (&score)[kSteps][8], const KeyMask& mask, int lane,
                              int first_row, int first_key) {
  hide_scores<kAccumulator, kSteps>(mask, lane, first_row, first_key,
                                    [&](int step, int i) { score[step][i] = -INFINITY; });
}

/// The same for scores in their accumulators.
template <int kSteps>
SPARK_DEVICE void mask_scores(AccumulatorFragment<Accumulator::kFp32> (&score)[kSteps],
                              const KeyMask& mask, int lane, int first_row, int first_key) {
  hide_scores<Accumulator::kFp32, kSteps>(mask, lane, first_row, first_key, [&](int step, int i) {
    score[step].element[i] = -INFINITY;
  });
}
template <int kSteps>
SPARK_DEVICE void mask_scores(AccumulatorFragment<Accumulator::kFp16> (&score)[kSteps],
                              const KeyMask& mask, int lane, int first_row, int first_key) {
  constexpr std::uint32_t kMinusInfinities = 0xfc00fc00;
  hide_scores<Accumulator::kFp16, kSteps>(mask, lane, first_row, first_key, [&](int step, int i) {
    std::uint32_t& pair = score[step].pair[i / 2];
    // What follows a hidden key is hidden.
    pair = i % 2 == 0 ? kMinusInfinities : (pair & 0xffff) | (kMinusInfinities & 0xffff0000);
  });
}

}  // namespace sparkbench
