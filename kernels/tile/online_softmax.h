// Online softmax (Milakov and Gimelshein, arXiv 1805.02867; paper, section 3.2.1, equation 3): the
// running maximum and sum of each row that a lane owns, in FP32 for either accumulator.
#pragma once

#include <cmath>

#include "kernels/tile/row_layout.h"

namespace sparkbench {

template <Accumulator kAccumulator>
struct OnlineSoftmax {
  using Layout = RowLayout<kAccumulator>;
  static constexpr int kRows = Layout::kRowsPerLane;

  float m[kRows];  // largest score so far; -inf before the first visible key
  float l[kRows];  // sum of exp(scale * (score - m)) over this lane's columns only

  SPARK_DEVICE OnlineSoftmax() {
#pragma unroll
    for (int slot = 0; slot < kRows; ++slot) {
      m[slot] = -INFINITY;
      l[slot] = 0.0f;
    }
  }

  /// Turns a tile of scores into exp(scale * (score - m)), m including the tile, and returns in
  /// `rescale` what earlier sums and outputs must be multiplied by. scale_log2 = scale * log2(e).
  /// A row that has seen no key yet gives zeros.
  template <class Machine, int kGroups>
  SPARK_DEVICE void update(Machine& machine, float (&score)[kGroups][8], float scale_log2,
                           float (&rescale)[kRows]) {
    float offset[kRows];
#pragma unroll
    for (int slot = 0; slot < kRows; ++slot) {
      const float largest = tile_maximum(machine, score, slot);
      const float reference = largest == -INFINITY ? 0.0f : largest;
      rescale[slot] = machine.exp2((m[slot] - reference) * scale_log2);
      offset[slot] = -reference * scale_log2;
      m[slot] = largest;
      l[slot] *= rescale[slot];
    }
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int slot = Layout::slot(i);
        score[group][i] = machine.exp2(machine.fma(score[group][i], scale_log2, offset[slot]));
        l[slot] += score[group][i];
      }
    }
  }

  /// The whole row's sum: the lanes that share the row add theirs, once, after the last tile.
  template <class Machine>
  SPARK_DEVICE float row_sum(Machine& machine, int slot) const {
    return reduce_row<kAccumulator>(machine, l[slot], [](float a, float b) { return a + b; });
  }

 private:
  template <class Machine, int kGroups>
  SPARK_DEVICE float tile_maximum(Machine& machine, const float (&score)[kGroups][8],
                                  int slot) const {
    float largest = m[slot];
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (Layout::slot(i) == slot) largest = fmaxf(largest, score[group][i]);
      }
    }
    return reduce_row<kAccumulator>(machine, largest, [](float a, float b) { return fmaxf(a, b); });
  }
};

}  // namespace sparkbench
