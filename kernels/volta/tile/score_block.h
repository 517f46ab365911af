// S = Q K^T, or dP = dO V^T, for one warp that has some rows and some keys of a tile, its
// quad-pairs a 2 x 2 grid (quad_grid.h).
#pragma once

#include "kernels/machine/machine.h"
#include "kernels/volta/tile/quad_grid.h"
#include "kernels/volta/tile/swizzled_tile.h"

namespace sparkbench {

/// C += A B^T over all columns: rows a_first_row.. of A, kGroups times 16, and rows (keys)
/// b_first_row.. of B, kSteps times 16, in grid order. c[g][s] is rows 16g.. and the keys of step
/// s.
template <Accumulator kAccumulator, class Machine, class ATile, class BTile, int kGroups,
          int kSteps>
SPARK_DEVICE void matmul_score_block(Machine& machine, ATile& a, int a_first_row, BTile& b,
                                     int b_first_row,
                                     AccumulatorFragment<kAccumulator> (&c)[kGroups][kSteps]) {
  const int lane = machine.lane();
  const auto a_place = ATile::lane_place(a_first_row + grid_operand_row(lane), 0);
  const auto b_place = BTile::lane_place(b_first_row + grid_operand_key(lane), 0);
  AccumulatorFragment<kAccumulator>* rows[kGroups];
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g] = c[g];
#pragma unroll
  for (int chunk = 0; chunk < ATile::kChunksPerRow; ++chunk) {
    OperandFragment a_half[2][kGroups], b_half[2][kSteps];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const auto bits = machine.template load_shared<Bits128>(a.at(a_place, kGridRows * g, chunk));
      for (int half = 0; half < 2; ++half) a_half[half][g] = operand(bits, half);
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const auto bits =
          machine.template load_shared<Bits128>(b.at(b_place, kGridColumns * s, chunk));
      for (int half = 0; half < 2; ++half) b_half[half][s] = operand(bits, half);
    }
    machine.template mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kB>(rows, a_half,
                                                                                b_half);
  }
}

}  // namespace sparkbench
