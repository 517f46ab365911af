// The two products that attention is made of, a warp's share: a warp has 32 rows, a quad-pair 8.
#pragma once

#include "kernels/tile/operand_exchange.h"
#include "kernels/tile/shared_tile.h"
#include "kernels/tile/tile_accumulator.h"

namespace sparkbench {

/// C = A B^T over the whole head_dim, from shared memory: [32, 8 * kGroups] in RowLayout's order.
/// `a_row` is the row of A that this lane feeds (owned_row of its quad-pair's eight); row n of B is
/// b_first_row + n.
template <Accumulator kAccumulator, class Machine, int kARows, int kBRows, int kHeadDim,
          int kGroups>
SPARK_DEVICE void matmul_transposed(Machine& machine, SharedTile<kARows, kHeadDim>& a, int a_row,
                                    SharedTile<kBRows, kHeadDim>& b, int b_first_row,
                                    float (&c)[kGroups][8]) {
  const int b_row = b_first_row + owned_row(machine.lane());
  AccumulatorFragment<kAccumulator> sum[kGroups] = {};
#pragma unroll
  for (int chunk = 0; chunk < kHeadDim / kChunkHalves; ++chunk) {
    OperandFragment a_chunk[2];
    load_operands(machine, a_chunk, a, a_row, chunk);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      OperandFragment b_chunk[2];
      load_operands(machine, b_chunk, b, b_row + 8 * group, chunk);
      machine.template mma_m8n8k4<Major::kRow, Major::kColumn>(sum[group], a_chunk, b_chunk);
    }
  }
#pragma unroll
  for (int group = 0; group < kGroups; ++group) widen(machine, sum[group], c[group]);
}

/// C = rescale * C + A B, A [32, 8 * kGroups] in registers (operand_exchange.h), B in shared memory
/// from row 0, its columns first_pair * 16 and on. C is [32, 16 * kPairs].
///
/// The columns of groups 2p and 2p + 1 of C are interleaved, so that a lane's 128-bit load of B is
/// the B operand of both: element n of group 2p + f is column 16p + 4f + n for n < 4, and
/// 16p + 4f + n + 4 for n >= 4 (store_rows.h puts them right).
template <Accumulator kAccumulator, class Machine, int kGroups, int kRows, int kHeadDim,
          int kColumnGroups>
SPARK_DEVICE void matmul_accumulate(Machine& machine, const OperandFragment (&a)[kGroups][2],
                                    SharedTile<kRows, kHeadDim>& b, int first_pair,
                                    const float (&rescale)[RowLayout<kAccumulator>::kRowsPerLane],
                                    float (&c)[kColumnGroups][8]) {
  const int lane = machine.lane();
#pragma unroll
  for (int pair = 0; pair < kColumnGroups / 2; ++pair) {
    const int chunk = 2 * (first_pair + pair) + (lane >> 4);
    TileAccumulator<kAccumulator> even, odd;
    even.start(machine, c[2 * pair], rescale);
    odd.start(machine, c[2 * pair + 1], rescale);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int row = 8 * group + (lane & 3);
      OperandFragment first[2], second[2];  // rows 0..3 and 4..7 of the group
      load_operands(machine, first, b, row, chunk);
      load_operands(machine, second, b, row + 4, chunk);
      even.template multiply_add<Major::kRow>(machine, a[group], {first[0], second[0]});
      odd.template multiply_add<Major::kRow>(machine, a[group], {first[1], second[1]});
    }
    even.finish(machine, c[2 * pair], rescale);
    odd.finish(machine, c[2 * pair + 1], rescale);
  }
}

}  // namespace sparkbench
