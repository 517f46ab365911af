// The element-wise part of the backward pass: from scores S and dP = dO V^T to P and dS.
#pragma once

#include <cmath>

#include "kernels/tile/log2e.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/volta/tile/probability_tile.h"

namespace sparkbench {

/// P 2^kLog2 = exp2(scale_log2 * S + offset), the offset as row_statistics gives it.
template <class Machine>
SPARK_DEVICE float recompute_probability(Machine& machine, float scale_log2,
                                         const RowStatistics& row, float score) {
  return machine.exp2(machine.fma(score, scale_log2, row.offset));
}

/// The same of 16 rows of scores.
template <Accumulator kAccumulator, class Machine, int kSteps>
SPARK_DEVICE void recompute_probabilities(
    Machine& machine, float scale_log2,
    const RowStatistics (&row)[GridLayout<kAccumulator>::kRowsPerLane], float (&score)[kSteps][8]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowStatistics& of = row[GridLayout<kAccumulator>::slot(quartet_of(i))];
      score[step][i] = recompute_probability(machine, scale_log2, of, score[step][i]);
    }
  }
}

/// Turns `gradient` from dP, zero where dropped, into dS / keep_scale = P * (dP - delta /
/// keep_scale): what kept values are multiplied by is left to the end of the sums. `p` is as
/// recompute_probabilities leaves it, delta as row_statistics gives it.
template <Accumulator kAccumulator, class Machine, int kSteps>
SPARK_DEVICE void score_gradients(
    Machine& machine, const RowStatistics (&row)[GridLayout<kAccumulator>::kRowsPerLane],
    const float (&p)[kSteps][8], float (&gradient)[kSteps][8]) {
  constexpr float kInverse = ProbabilityScale<kAccumulator>::kInverse;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowStatistics& of = row[GridLayout<kAccumulator>::slot(quartet_of(i))];
      gradient[step][i] = p[step][i] * machine.fma(gradient[step][i], kInverse, -of.delta);
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

/// dS, which has a sign and any magnitude: the conversion unit rounds it. As store_probabilities
/// stores P.
template <Accumulator kAccumulator, class Machine, int kSteps, int kKeys, class Places = int>
SPARK_DEVICE void store_gradients(Machine& machine, const float (&gradient)[kSteps][8],
                                  ProbabilityTile<kKeys>& tile, const Places& places = 0) {
  store_packed<kAccumulator>(machine, gradient, tile, places,
                             [&](float low, float high) { return machine.pack_halves(low, high); });
}

}  // namespace sparkbench
