// The element-wise part of the backward pass: from scores S and dP = dO V^T to P and dS.
#pragma once

#include <cmath>

#include "kernels/tile/log2e.h"
#include "kernels/tile/probability_tile.h"
#include "kernels/tile/row_statistics.h"

namespace sparkbench {

/// Turns `score` into P 2^kLog2 = exp2(scale_log2 * S + offset) and `gradient` from dP, zero where
/// dropped, into dS / keep_scale = P * (dP - delta / keep_scale): what kept values are multiplied
/// by is left to the end of the sums. Of 16 rows; offset and delta are as row_statistics gives
/// them.
template <Accumulator kAccumulator, class Machine, int kSteps>
SPARK_DEVICE void softmax_gradient(
    Machine& machine, float scale_log2,
    const RowStatistics (&row)[GridLayout<kAccumulator>::kRowsPerLane], float (&score)[kSteps][8],
    float (&gradient)[kSteps][8]) {
  constexpr float kInverse = ProbabilityScale<kAccumulator>::kInverse;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowStatistics& of = row[GridLayout<kAccumulator>::slot(quartet_of(i))];
      const float p = machine.exp2(machine.fma(score[step][i], scale_log2, of.offset));
      score[step][i] = p;
      gradient[step][i] = p * machine.fma(gradient[step][i], kInverse, -of.delta);
    }
  }
}

/// The statistics of a row that softmax_gradient takes, of its log-sum-exp and rowsum(d_o * o).
template <Accumulator kAccumulator>
SPARK_DEVICE RowStatistics row_statistics(float lse, float delta, float keep_scale) {
  using Scale = ProbabilityScale<kAccumulator>;
  const float offset = lse == -INFINITY ? -INFINITY : Scale::kLog2 - lse * kLog2E;
  return {offset, delta * Scale::kInverse / keep_scale};
}

/// dS, which has a sign and any magnitude: the conversion unit rounds it.
template <Accumulator kAccumulator, class Machine, int kSteps, int kKeys>
SPARK_DEVICE void store_gradients(Machine& machine, const float (&gradient)[kSteps][8],
                                  ProbabilityTile<kKeys>& tile, int first_step) {
  store_packed<kAccumulator>(machine, gradient, tile, first_step,
                             [&](float low, float high) { return machine.pack_halves(low, high); });
}

}  // namespace sparkbench
