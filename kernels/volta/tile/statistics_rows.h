// The statistics of the backward pass' rows (kernels/tile/row_statistics.h), in the order in which
// a lane of Volta's accumulators loads them.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/machine/machine.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

/// Index of a row's statistics among those of 16 rows. Rows x and x + 2, which one lane holds with
/// FP32 accumulators, are neighbours, so that one load brings both.
SPARK_HD int statistics_place(int row) { return (row & ~3) | ((row & 1) << 1) | ((row >> 1) & 1); }

/// The statistics of this lane's rows of a 16-row group. If blocks of this launch publish them,
/// call it after acquire_published().
template <Accumulator kAccumulator, bool kIsPublished = false, class Machine>
SPARK_DEVICE void load_statistics(Machine& machine, const RowStatistics* group,
                                  RowStatistics (&row)[GridLayout<kAccumulator>::kRowsPerLane]) {
  using Bits = std::conditional_t<GridLayout<kAccumulator>::kRowsPerLane == 2, Bits128, Bits64>;
  static_assert(sizeof(Bits) == sizeof row, "one load brings all of a lane's rows");
  const int first_row = GridLayout<kAccumulator>::row(machine.lane(), 0);
  const RowStatistics* const first = group + statistics_place(first_row);
  if constexpr (kIsPublished) {
    const auto bits = machine.template load_published<Bits>(first);
    memcpy(&row, &bits, sizeof row);
  } else {
    const auto bits = machine.template load_global<Bits>(first);
    memcpy(&row, &bits, sizeof row);
  }
}

}  // namespace sparkbench
