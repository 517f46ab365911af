// The statistics of each query row for the backward pass, prepared once for all key blocks.
#pragma once

#include <cmath>

#include "kernels/base/planted_fault.h"
#include "kernels/tile/log2e.h"
#include "kernels/tile/probability_scale.h"

namespace sparkbench {

/// One query's: the terms that softmax_gradient.h adds and subtracts.
struct alignas(8) RowStatistics {
  float offset;  // P 2^kLog2 = exp2(scale_log2 * S + offset); -inf, so that P = 0, for a row
                 // without keys or past the end
  float delta;   // rowsum(d_o * o), in the units of softmax_gradient.h
};

/// Makes them from a row's log-sum-exp and rowsum(d_o * o).
template <class Scale>
SPARK_DEVICE RowStatistics row_statistics(float lse, float delta, float keep_scale) {
  const float offset =
      SPARK_PLANTED(kEmptyRowNotHidden, lse == -INFINITY, false)
          ? -INFINITY
          : Scale::kLog2 - lse * SPARK_PLANTED(kLseOfBackwardInBase2, kLog2E, 1.0f);
  return {offset, delta * Scale::kInverse / SPARK_PLANTED(kDeltaWithoutDropout, keep_scale, 1.0f)};
}

}  // namespace sparkbench
