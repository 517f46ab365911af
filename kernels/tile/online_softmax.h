// Online softmax (Milakov and Gimelshein, arXiv 1805.02867; paper, section 3.2.1, equation 3): the
// running maximum and sum of each row that a lane owns of 16, in FP32 for either accumulator.
#pragma once

#include <cmath>

#include "kernels/tile/probability_scale.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

template <Accumulator kAccumulator, class Scale>
struct OnlineSoftmax {
  using Layout = GridLayout<kAccumulator>;
  static constexpr int kRows = Layout::kRowsPerLane;

  float m[kRows];  // largest score so far; -inf before the first visible key
  float l[kRows];  // sum of exp(scale * (score - m)) 2^kLog2 over this lane's keys only

  SPARK_DEVICE OnlineSoftmax() {
#pragma unroll
    for (int slot = 0; slot < kRows; ++slot) {
      m[slot] = -INFINITY;
      l[slot] = 0.0f;
    }
  }

  /// Turns a tile of scores into exp(scale * (score - m)) 2^kLog2, m including the tile, and
  /// returns in `rescale` what earlier sums and outputs must be multiplied by. scale_log2 = scale *
  /// log2(e). A row that has seen no key yet gives zeros if kMaySeeNoKey, else NaN.
  template <bool kMaySeeNoKey, class Machine, int kSteps>
  SPARK_DEVICE void update(Machine& machine, float (&score)[kSteps][8], float scale_log2,
                           float (&rescale)[kRows]) {
    float offset[kRows];
#pragma unroll
    for (int slot = 0; slot < kRows; ++slot) {
      const float largest = tile_maximum(machine, score, slot);
      const float reference = kMaySeeNoKey && largest == -INFINITY ? 0.0f : largest;
      rescale[slot] = machine.exp2((m[slot] - reference) * scale_log2);
      offset[slot] = machine.fma(-reference, scale_log2, Scale::kLog2);
      m[slot] = largest;
      l[slot] *= rescale[slot];
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int slot = Layout::slot(quartet_of(i));
        score[step][i] = machine.exp2(machine.fma(score[step][i], scale_log2, offset[slot]));
        l[slot] += score[step][i];
      }
    }
  }

  /// The whole row's sum of exp(scale * (score - m)): the lanes that share the row add theirs,
  /// once, after the last tile.
  template <class Machine>
  SPARK_DEVICE float row_sum(Machine& machine, int slot) const {
    return Scale::kInverse *
           reduce_grid_row<kAccumulator>(machine, l[slot], [](float a, float b) { return a + b; });
  }

 private:
  template <class Machine, int kSteps>
  SPARK_DEVICE float tile_maximum(Machine& machine, const float (&score)[kSteps][8],
                                  int slot) const {
    float largest = m[slot];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (Layout::slot(quartet_of(i)) == slot) largest = fmaxf(largest, score[step][i]);
      }
    }
    return reduce_grid_row<kAccumulator>(machine, largest,
                                         [](float a, float b) { return fmaxf(a, b); });
  }
};

}  // namespace sparkbench
