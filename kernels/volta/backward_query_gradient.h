// dQ of the backward kernel (backward.h, line 8): a step's share of it, added up in global memory.
#pragma once

#include "kernels/tile/tile_accumulator.h"
#include "kernels/volta/backward_block.h"

namespace sparkbench::volta {

/// Adds an 8x8 tile to dQ in global memory: row m is query first_query + m for m < 4 and + m + 4
/// for m >= 4, column n likewise from first_column on.
template <class Config, class Machine>
SPARK_DEVICE void add_dq_fragment(Machine& machine, const BackwardParams& params,
                                  const BackwardBlock<Config>& block, int first_query,
                                  int first_column,
                                  const AccumulatorFragment<Config::kAccumulator>& fragment) {
  using Layout = typename Config::Layout;
  float value[8];
  widen(machine, fragment, value);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int m = Layout::row(machine.lane(), Layout::slot(i)) & 7;
    const int n = Layout::column(machine.lane(), i);
    const int query = first_query + (m & 3) + 8 * (m >> 2);
    if (query < params.mask.seqlen_q) {
      float* row =
          params.workspace.dq_sum + row_offset(block.batch, query, block.head, params.mask.seqlen_q,
                                               params.heads, Config::kHeadDim);
      machine.add_global(row + first_column + (n & 3) + 8 * (n >> 2), value[i]);
    }
  }
}

/// Line 8: dQ = dQ + dS K for the step's 32 queries. A warp has 32 columns of dQ and 64 of the
/// block's keys; its quad-pairs divide the queries (bit 0) and the columns (bit 1) in halves. As
/// with B in matmul_accumulate, a lane's 128-bit load of dS^T is the A operand of two products:
/// row m of product f is query 16 * (quad-pair & 1) + 4f + m for m < 4, and 4 more for m >= 4.
template <class Config, class Machine>
SPARK_DEVICE void add_query_gradient(Machine& machine, const BackwardParams& params,
                                     const BackwardBlock<Config>& block, int first_query,
                                     BackwardTiles<Config>& tiles) {
  constexpr int kColumnWarps = Config::kHeadDim / 32;
  constexpr int kChain = 4;  // products on one accumulator before the next accumulator's turn
  const int lane = machine.lane();
  const int first_row = 64 * (machine.warp() / kColumnWarps);
  const int query_half = quad_pair(lane) & 1;
  const int pair = 2 * (machine.warp() % kColumnWarps) + (quad_pair(lane) >> 1);

  AccumulatorFragment<Config::kAccumulator> dq[2][2] = {};
#pragma unroll
  for (int first = 0; first < 64; first += 4 * kChain) {
    OperandFragment ds[2][kChain], k[2][kChain];
#pragma unroll
    for (int step = 0; step < kChain; ++step) {
      const int row = first_row + first + 4 * step + (lane & 3);
      OperandFragment ds_halves[2], k_halves[2];
      load_operands(machine, ds_halves, tiles.ds, row, 2 * query_half + (lane >> 4));
      load_operands(machine, k_halves, tiles.k, permuted_key(row >> 5, row & 31),
                    2 * pair + (lane >> 4));
      for (int f = 0; f < 2; ++f) ds[f][step] = ds_halves[f];
      for (int e = 0; e < 2; ++e) k[e][step] = k_halves[e];
    }
#pragma unroll
    for (int f = 0; f < 2; ++f) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        machine.template mma_m8n8k4<Major::kColumn, Major::kRow>(dq[f][e], ds[f], k[e]);
      }
    }
  }
#pragma unroll
  for (int f = 0; f < 2; ++f) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      add_dq_fragment<Config>(machine, params, block, first_query + 16 * query_half + 4 * f,
                              16 * pair + 4 * e, dq[f][e]);
    }
  }
}

}  // namespace sparkbench::volta
