// m and l of a warp's 32 rows over the tiles of keys, as RunningRows (warp_softmax.h), every row in
// each lane that holds scores of it, l over that lane's own keys: fewer shuffles and instructions a
// tile, six registers more in FP32-ACC.
#pragma once

#include "kernels/tile/warp_softmax.h"

namespace sparkbench {

/// m of a row before its first visible key: below every score, and no infinity, so that a row which
/// sees no key gets zeros without a special case.
inline constexpr float kNoScore = -0x1p100f;

template <Accumulator kAccumulator, class Scale>
class LaneRows {
 public:
  using Values = WarpRowValues<kAccumulator>;

  SPARK_DEVICE LaneRows() {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Values::kRows; ++slot) {
        m_.of[g][slot] = kNoScore;
        l_.of[g][slot] = 0.0f;
      }
    }
  }

  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Values::kRows; ++slot) {
        const float of_row = reduce_grid_row<kAccumulator>(
            machine, largest.of[g][slot], [](float a, float b) { return fmaxf(a, b); });
        float& m = m_.of[g][slot];
        const float reference = fmaxf(m, of_row);
        rescale.of[g][slot] = machine.exp2((m - reference) * scale_log2);
        offset.of[g][slot] = machine.fma(-reference, scale_log2, Scale::kLog2);
        m = reference;
        l_.of[g][slot] *= rescale.of[g][slot];
      }
    }
  }
  /// A tile's sums begin with l, and end as l.
  SPARK_DEVICE Values initial_sum() const { return l_; }
  template <class Machine>
  SPARK_DEVICE void add(Machine& /*machine*/, const Values& sum) {
    l_ = sum;
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<kAccumulator, Scale> finished(Machine& machine, int g) const {
    FinishedRows<kAccumulator, Scale> rows;
#pragma unroll
    for (int slot = 0; slot < Values::kRows; ++slot) {
      rows.m[slot] = m_.of[g][slot];
      rows.l[slot] = reduce_grid_row<kAccumulator>(machine, l_.of[g][slot],
                                                   [](float a, float b) { return a + b; });
    }
    return rows;
  }

 private:
  Values m_, l_;
};

}  // namespace sparkbench
