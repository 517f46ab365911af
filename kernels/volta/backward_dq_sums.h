// What a step of the kernel of dK and dV adds to dQ: dS K of its queries, added up in the
// workspace.
#pragma once

#include "kernels/volta/backward_block.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// Where the sums of a step's queries are in the workspace.
struct DqSums {
  std::uint32_t head;
  int first_query;
};

/// Columns of the workspace.
template <class Config>
SPARK_DEVICE int sum_columns(const BackwardParams& params) {
  return volta::sum_columns(Config::kHasEveryBlock ? Config::kHeadDim / kChunkHalves
                                                   : params.head_chunks);
}

/// kGroups 16-row groups of 32 columns. `locate` gives DqSums, wherever they are asked for.
template <class Config, int kGroups, class Machine, class Locate>
SPARK_DEVICE void add_to_sums(Machine& machine, const BackwardParams& params, Locate locate,
                              int first_group, int column_block,
                              const AccumulatorFragment<Config::kAccumulator> (&dq)[kGroups][2]) {
  const DqSums sums = locate();
  const int first_query = sums.first_query + kGridRows * first_group;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    // Opaque, or each sum has an address of its own.
    float* const at =
        machine.opaque(params.workspace.dq_sums_of(sums.head, first_query + kGridRows * g,
                                                   sum_columns<Config>(params), column_block) +
                       machine.lane());
#pragma unroll
    for (int f = 0; f < 2; ++f) {
      float value[8];
      sparkbench::widen(machine, dq[g][f], value);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        machine.add_global(at + 32 * (8 * f + i), value[i]);
      }
    }
  }
}

/// kGroups 16-row groups of a part of dQ: of 32 columns and 64 keys.
template <class Config, int kGroups, class Machine, class Locate>
SPARK_DEVICE void add_dq_part(Machine& machine, const BackwardParams& params,
                              typename Config::KeyTile& k, TeamTiles<Config>& team, int part,
                              int first_group, Locate locate) {
  constexpr int kColumnBlocks = Config::kHeadDim / 32;
  const int column_block = part % kColumnBlocks;
  if (!Config::kHasEveryBlock && 4 * column_block >= params.head_chunks) return;
  const int key_tile = part / kColumnBlocks;
  auto& tiles = team.ds[key_tile];
  ProbabilityTile<kTransposedKeys>* ds[kGroups];
#pragma unroll
  for (int g = 0; g < kGroups; ++g) ds[g] = &tiles[first_group + g];
  AccumulatorFragment<Config::kAccumulator> dq[kGroups][2] = {};
  matmul_probabilities<Config::kAccumulator>(machine, ds, k, column_block, dq,
                                             kTransposedKeys / kGridColumns * key_tile);
  add_to_sums<Config>(machine, params, locate, first_group, column_block, dq);
}

/// 16 queries of the last columns, half a block, whose sums lie where those of a whole block do.
template <class Config, class Machine, class Locate>
SPARK_DEVICE void add_dq_half_block(Machine& machine, const BackwardParams& params,
                                    typename Config::KeyTile& k, TeamTiles<Config>& team,
                                    int key_tile, int group, Locate locate) {
  constexpr int kColumnBlock = Config::kHeadDim / 32;
  ProbabilityTile<kTransposedKeys>* const ds[1] = {&team.ds[key_tile][group]};
  AccumulatorFragment<Config::kAccumulator> dq[1][1] = {};
  matmul_probabilities<Config::kAccumulator>(machine, ds, k, kColumnBlock, dq,
                                             kTransposedKeys / kGridColumns * key_tile);
  const DqSums sums = locate();
  const int query = sums.first_query + kGridRows * group;
  float* const at = machine.opaque(
      params.workspace.dq_sums_of(sums.head, query, sum_columns<Config>(params), kColumnBlock) +
      half_block_sum(machine.lane()));
  float value[8];
  sparkbench::widen(machine, dq[0][0], value);
#pragma unroll
  for (int i = 0; i < 8; ++i) machine.add_global(at + 32 * i, value[i]);
}

/// The share of warp `member` of a team: parts of 32 columns and 64 keys, one a warp. Where there
/// are fewer, as many halves as are left over, of 16 queries each. Where the last 16 columns are
/// half a block, half of the warps have a part each, the other half those columns, of 16 queries
/// each.
template <class Config, class Machine, class Locate>
SPARK_DEVICE void add_step_dq(Machine& machine, const BackwardParams& params,
                              typename Config::KeyTile& k, TeamTiles<Config>& team, int member,
                              Locate locate) {
  constexpr int kParts = Config::kHeadDim / 32 * Config::kKeyTiles;
  if constexpr (Config::kHeadDim % 32 != 0) {
    static_assert(Config::kTeamWarps == kParts + kRowGroups * Config::kKeyTiles,
                  "a warp has a part, or half of a half block");
    if (member < kParts) {
      add_dq_part<Config, kRowGroups>(machine, params, k, team, member, 0, locate);
    } else {
      add_dq_half_block<Config>(machine, params, k, team, (member - kParts) >> 1, member & 1,
                                locate);
    }
  } else {
    constexpr int kHalves = 2 * (Config::kTeamWarps - kParts),
                  kWhole = Config::kTeamWarps - kHalves;
    // NOLINTNEXTLINE(bugprone-branch-clone): of this and the third, one is compiled
    if constexpr (kHalves == 0) {
      add_dq_part<Config, kRowGroups>(machine, params, k, team, member, 0, locate);
    } else if constexpr (kWhole == 0) {
      add_dq_part<Config, 1>(machine, params, k, team, member >> 1, member & 1, locate);
    } else if (member < kWhole) {
      add_dq_part<Config, kRowGroups>(machine, params, k, team, member, 0, locate);
    } else {
      add_dq_part<Config, 1>(machine, params, k, team, kWhole + ((member - kWhole) >> 1),
                             member & 1, locate);
    }
  }
}

}  // namespace sparkbench::volta
