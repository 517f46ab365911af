// dQ of the backward kernel (backward.h, line 10): a step's share of it, added up in global memory.
#pragma once

#include "kernels/volta/backward_block.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// Line 10: dQ += dS K for the step's queries, 32 columns and 64 keys.
template <class Config, class Machine>
SPARK_DEVICE void add_query_gradient(Machine& machine, const BackwardParams& params,
                                     int first_query, int member, typename Config::KeyTile& k,
                                     TeamTiles<Config>& tiles) {
  constexpr int kColumnBlocks = Config::kHeadDim / 32;
  const int column_block = member % kColumnBlocks;
  const int key_tile = member / kColumnBlocks;
  ProbabilityTile<kTransposedKeys>* const ds[kRowGroups] = {&tiles.ds[key_tile][0],
                                                            &tiles.ds[key_tile][1]};
  AccumulatorFragment<Config::kAccumulator> dq[kRowGroups][2] = {};
  matmul_probabilities<Config::kAccumulator>(machine, ds, k, column_block, dq,
                                             kTransposedKeys / kGridColumns * key_tile);

  const std::uint32_t batch_head = locate_backward<Config>(machine).batch_head(params);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    // Opaque, or each sum has an address of its own.
    float* const at =
        machine.opaque(params.workspace.dq_sums_of(batch_head, first_query + kGridRows * g,
                                                   Config::kHeadDim, column_block) +
                       machine.lane());
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
