// From the FP32 accumulators of matmul_accumulate to rows of an fp16 tensor.
#pragma once

#include "kernels/machine/machine.h"
#include "kernels/tile/operand_exchange.h"
#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// Rounds factor * value to fp16 and stores it, 16 * pairs columns of one row a lane: the row that
/// the lane holds of an A fragment. `row` points to that row's first column of these, and
/// is_inside tells whether it exists. Two 128-bit stores fill one 32-byte sector.
template <Accumulator kAccumulator, class Machine, int kColumnGroups>
SPARK_DEVICE void store_rows(Machine& machine, Half* row, bool is_inside,
                             const float (&factor)[RowLayout<kAccumulator>::kRowsPerLane],
                             float (&value)[kColumnGroups][8]) {
  using Layout = RowLayout<kAccumulator>;
#pragma unroll
  for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) value[group][i] *= factor[Layout::slot(i)];
  }
#pragma unroll
  for (int pair = 0; pair < kColumnGroups / 2; ++pair) {
    OperandFragment even[2], odd[2];
    to_operand_rows<kAccumulator>(machine, value[2 * pair], even);
    to_operand_rows<kAccumulator>(machine, value[2 * pair + 1], odd);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Bits128 columns{
          {even[half].pair[0], even[half].pair[1], odd[half].pair[0], odd[half].pair[1]}};
      if (is_inside) machine.store_global(row + 16 * pair + 8 * half, columns);
    }
  }
}

}  // namespace sparkbench
