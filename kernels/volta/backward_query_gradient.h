// dQ of the backward kernel (backward.h, line 9): a step's share of it, added up in global memory.
#pragma once

#include "kernels/tile/grid_matmul.h"
#include "kernels/tile/tile_accumulator.h"
#include "kernels/volta/backward_block.h"

namespace sparkbench::volta {

/// Line 9: dQ += dS K for 32 of the step's queries and 32 columns.
template <class Config, class Machine>
SPARK_DEVICE void add_query_gradient(Machine& machine, const BackwardParams& params,
                                     const BackwardBlock& block, int first_query,
                                     BackwardTiles<Config>& tiles) {
  const int first_group = kRowGroups * (machine.warp() % Config::kQueryShares);
  const int column_block = machine.warp() / Config::kQueryShares;
  ProbabilityTile<Config::kBlockKeys>* const ds[kRowGroups] = {&tiles.ds[first_group],
                                                               &tiles.ds[first_group + 1]};
  AccumulatorFragment<Config::kAccumulator> dq[kRowGroups][2] = {};
  matmul_probabilities<Config::kAccumulator>(machine, ds, tiles.k, column_block, dq);

  float* const sums =
      params.workspace.dq_sums_of(block.batch_head, params.mask.seqlen_q, Config::kHeadDim) +
      machine.lane();
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    float* const at = sums + sum_block_offset(first_query / kGridRows + first_group + g,
                                              column_block, Config::kHeadDim);
#pragma unroll
    for (int f = 0; f < 2; ++f) {
      float value[8];
      widen(machine, dq[g][f], value);
#pragma unroll
      for (int i = 0; i < 8; ++i) machine.add_global(at + 32 * (8 * f + i), value[i]);
    }
  }
}

}  // namespace sparkbench::volta
