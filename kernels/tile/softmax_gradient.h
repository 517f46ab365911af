// The element-wise part of the backward pass: from scores S and dP = dO V^T to P and dS.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/layout.h"
#include "kernels/tile/row_statistics.h"

namespace sparkbench {

/// P 2^kLog2 = exp2(scale_log2 * S + offset), the offset as row_statistics() gives it.
template <class Machine>
SPARK_DEVICE float recompute_probability(Machine& machine, float scale_log2,
                                         const RowStatistics& row, float score) {
  return machine.exp2(machine.fma(score, scale_log2, row.offset));
}

/// The same for a fragment's rows of scores.
template <class Layout, class Machine, int kSteps>
SPARK_DEVICE void recompute_probabilities(Machine& machine, float scale_log2,
                                          const RowStatistics (&row)[Layout::kRowsPerLane],
                                          float (&score)[kSteps][Layout::kElements]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Layout::kElements; ++i) {
      const RowStatistics& of = row[Layout::slot(Layout::strand_of(i))];
      score[step][i] = recompute_probability(machine, scale_log2, of, score[step][i]);
    }
  }
}

/// Turns `gradient` from dP, zero where dropped, into dS / keep_scale = P * (dP - delta /
/// keep_scale); the sums are multiplied by keep_scale at their end. `p` is
/// recompute_probabilities()'s, delta row_statistics()'s.
template <class Layout, class Scale, class Machine, int kSteps>
SPARK_DEVICE void score_gradients(Machine& machine,
                                  const RowStatistics (&row)[Layout::kRowsPerLane],
                                  const float (&p)[kSteps][Layout::kElements],
                                  float (&gradient)[kSteps][Layout::kElements]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Layout::kElements; ++i) {
      const RowStatistics& of = row[Layout::slot(Layout::strand_of(i))];
      gradient[step][i] = p[step][i] * machine.fma(gradient[step][i], Scale::kInverse,
                                                   SPARK_PLANTED(kDeltaLeftOut, -of.delta, 0.0f));
    }
  }
}

}  // namespace sparkbench
