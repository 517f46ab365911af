// How the two warps of a pair exchange S and dP: one has S of all queries of a step, one dP, and
// each goes on with both for its own 16 queries.
#pragma once

#include <cstring>

#include "kernels/volta/backward/block.h"

namespace sparkbench::volta {

/// 16 rows of S or dP, and a warp's keys.
template <class Config>
using ScoreFragments = AccumulatorFragment<Config::kAccumulator>[Config::kScoreSteps];

/// Where a warp's partner stores 16 rows of S or dP of the warp's keys, the lane's chunk `index` of
/// them: in the memory that the warp then fills with P and dS.
template <class Config>
SPARK_DEVICE Bits128* exchanged_chunk(TeamTiles<Config>& tiles, const ScoreShare<Config>& share,
                                      int lane, int group, int index) {
  constexpr int kSteps = Config::kScoreSteps, kLanesOfRow = 2 * kSteps;
  // A call in the brackets g++ 12 makes for tiles.p alone.
  auto& tile = (index < kSteps ? tiles.p : tiles.ds)[share.key_tile()][group];
  return tile.at(32 / kLanesOfRow * (index & (kSteps - 1)) + lane / kLanesOfRow,
                 2 * share.first_step() + lane % kLanesOfRow);
}

/// Gives the partner this warp's product for the partner's group, and gets the same for its own.
template <class Config, class Machine>
SPARK_DEVICE void exchange_with_partner(Machine& machine, TeamTiles<Config>& tiles,
                                        const ScoreShare<Config>& share,
                                        ScoreFragments<Config>& fragments) {
  constexpr std::size_t kBytes = sizeof fragments;
  constexpr int kChunks = kBytes / sizeof(Bits128);
  const int own = share.part;
  Bits128 bits[kChunks];
  memcpy(bits, fragments, sizeof fragments);
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    machine.store_shared(exchanged_chunk(tiles, share, machine.lane(), own ^ 1, i), bits[i]);
  }
  machine.template team_barrier<Config::kScoreWarps>();
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    bits[i] = machine.template load_shared<Bits128>(
        exchanged_chunk(tiles, share, machine.lane(), own, i));
  }
  machine.sync_warp();
  memcpy(fragments, bits, sizeof fragments);
}

}  // namespace sparkbench::volta
