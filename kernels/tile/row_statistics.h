// What the backward pass needs of each query row, prepared once for all blocks of keys.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/machine/machine.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

/// Of one query: what softmax_gradient (softmax_gradient.h) subtracts.
struct alignas(8) RowStatistics {
  float offset;  // P 2^kLog2 = exp2(scale_log2 * S + offset); -inf, so that P = 0, for a row
                 // without keys or past the end
  float delta;   // rowsum(d_o * o), in the units of softmax_gradient
};

/// Where a row's statistics are among those of 16 rows: rows x and x + 2, which one lane holds of
/// FP32 accumulators, are neighbours, so that one load brings both.
SPARK_HD int statistics_place(int row) { return (row & ~3) | ((row & 1) << 1) | ((row >> 1) & 1); }

/// The statistics of this lane's rows of a 16-row group.
template <Accumulator kAccumulator, class Machine>
SPARK_DEVICE void load_statistics(Machine& machine, const RowStatistics* group,
                                  RowStatistics (&row)[GridLayout<kAccumulator>::kRowsPerLane]) {
  using Bits = std::conditional_t<GridLayout<kAccumulator>::kRowsPerLane == 2, Bits128, Bits64>;
  static_assert(sizeof(Bits) == sizeof row, "one load brings all of a lane's rows");
  const int first_row = GridLayout<kAccumulator>::row(machine.lane(), 0);
  const auto bits = machine.template load_global<Bits>(group + statistics_place(first_row));
  memcpy(&row, &bits, sizeof row);
}

}  // namespace sparkbench
