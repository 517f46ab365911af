// The end of the dK/dV kernel: adds up and writes what its teams have.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/volta/backward/block.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// The 32 of a KeyGradient's keys that a team finishes.
template <class Config>
using FinishedKeys = AccumulatorFragment<Accumulator::kFp32>[2][Config::Columns::kGroups];

/// Adds up two teams' dK and dV of the same keys and columns. Each team finishes 32 keys. If one
/// team took a step more than the other, compute-sanitizer's racecheck (2025.3) sees hazards across
/// the second barrier: it loses count of warps that have met unequally often before.
template <class Config, class Machine>
SPARK_DEVICE void add_teams(Machine& machine, KeyGradientTiles<Config>& tiles,
                            const KeyGradient<Config>& gradient, FinishedKeys<Config>& finished) {
  const bool is_first = TeamMember<Config>(machine.warp()).team == 0;
  const int other_warp = machine.warp() ^ Config::kTeamWarps;
  machine.barrier();
#pragma unroll
  for (int g = 0; g < 2; ++g) {
#pragma unroll
    for (int group = 0; group < Config::Columns::kGroups; ++group) {
      finished[g][group] = select(is_first, gradient[g][group], gradient[2 + g][group]);
      const auto sent = select(is_first, gradient[2 + g][group], gradient[g][group]);
      Bits128 bits[2];
      memcpy(bits, &sent, sizeof bits);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        machine.store_shared(&tiles.sum[other_warp][g][2 * group + half][machine.lane()],
                             bits[half]);
      }
    }
  }
  machine.barrier();
#pragma unroll
  for (int g = 0; g < 2; ++g) {
#pragma unroll
    for (int i = 0; i < 2 * Config::Columns::kGroups; ++i) {
      const auto bits =
          machine.template load_shared<Bits128>(&tiles.sum[machine.warp()][g][i][machine.lane()]);
      float value[4];
      memcpy(value, &bits, sizeof bits);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        finished[g][i / 2].element[4 * (i % 2) + j] +=
            SPARK_PLANTED(kOtherTeamLost, value[j], 0.0f);
    }
  }
}

/// The key of a row of the 16 of group g. Bits of a row and of g are bits of it.
SPARK_HD int key_of_output_row(int row, int g) { return transposed_key(row >> 3, g, row & 7); }

/// Writes the 16 keys of group g of a warp, a row of 128 bytes by eight lanes.
template <class Machine, class Tile>
SPARK_DEVICE void write_key_rows(Machine& machine, Tile& tile, int g, const OutputRows& rows) {
  const int chunk = machine.lane() % 8;
#pragma unroll
  for (int first = 0; first < kGridRows; first += 4) {
    const int of_lane = machine.lane() / 8, row = first + of_lane;
    const auto bits = machine.template load_shared<Bits128>(tile.at(row, chunk));
    Bits16* const place =
        rows.at(key_of_output_row(first, g), key_of_output_row(of_lane, 0)) + 8 * chunk;
    if (rows.has(key_of_output_row(row, g)) && chunk < rows.chunks) {
      machine.store_global(place, bits);
    }
  }
}

/// Groups first_group.. of a warp's keys: scale * dS^T Q, or P^T dO, both over
/// 1 - dropout_p, rounded to fp16.
template <class Config, class Machine, int kGroups>
SPARK_DEVICE void write_groups(
    Machine& machine, const BackwardParams& params, const BackwardBlock& block,
    typename Config::Columns::Output& tile, int first_group,
    const AccumulatorFragment<Accumulator::kFp32> (&gradient)[kGroups][Config::Columns::kGroups]) {
  const KeyGradientShare<Config> share(TeamMember<Config>(machine.warp()).member);
  const float of_product = share.is_dk ? SPARK_PLANTED(kDkNotScaled, params.scale, 1.0f)
                                       : 1.0f / ProbabilityScale<Config::kAccumulator>::kOfHalves;
  float factor[GridLayout<Accumulator::kFp32>::kRowsPerLane];
#pragma unroll
  for (float& value : factor)
    value = of_product * SPARK_PLANTED(kKeyGradientKeepScaleLost, params.dropout.keep_scale, 1.0f);
  const int first_key = block.first_key + kTransposedKeys * share.key_tile;
  const bool is_part = block.part_row != kNoPart;
  const ChunkedView<Bits16>& tensor = is_part ? (share.is_dk ? params.part_dk : params.part_dv)
                                              : (share.is_dk ? params.dk : params.dv);
  const int first_row =
      is_part ? block.part_row + first_key - block.first_key : block.first_k + first_key;
  using Columns = typename Config::Columns;
  Bits16* const first = tensor.at(block.batch, first_row, block.key_head) +
                        (Columns::kHasHalfBlocks ? 0 : 64 * share.column_block);
  const int seqlen_k = mask_of_keys<Config>(machine, params).seqlen_k;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    store_output<Accumulator::kFp32>(machine, tile, factor, gradient[g]);
    machine.sync_warp();
    if constexpr (Columns::kHasHalfBlocks) {
      write_half_block_rows<Columns>(
          machine, tile, share.column_block,
          {first, tensor.row_stride(), seqlen_k - first_key,
           written_chunks<Config, Config::kHeadDim / 8>(params, 0)},
          [group = first_group + g](int row) { return key_of_output_row(row, group); });
    } else {
      write_key_rows(machine, tile, first_group + g,
                     OutputRows{first, tensor.row_stride(),
                                SPARK_PLANTED(kLastKeyNotStored, seqlen_k - first_key,
                                              seqlen_k - first_key - 1),
                                written_chunks<Config, 8>(params, 8 * share.column_block)});
    }
    machine.sync_warp();
  }
}

/// dV or dK of all teams to global memory.
template <class Config, class Machine>
SPARK_DEVICE void write_key_gradient(Machine& machine, const BackwardParams& params,
                                     BackwardTiles<Config>& in_loop,
                                     const KeyGradient<Config>& gradient) {
  auto& tiles = key_gradient_tiles(in_loop);
  BackwardBlock block = restore_place(machine, params, in_loop);
  block.part_row = WalkOf<Config>::part_row(machine, params.sparse_keys, 0);
  auto& output = tiles.output[machine.warp()];
  if constexpr (Config::kTeams == 1) {
    // In a block without a step, warps may still be reading K and V into registers.
    if constexpr (Config::kKeptChunks > 0) machine.barrier();
    const KeyGradientShare<Config> share(TeamMember<Config>(machine.warp()).member);
    write_groups<Config>(machine, params, block, output, Config::kKeyGroups * share.key_half,
                         gradient);
  } else {
    FinishedKeys<Config> finished;
    add_teams<Config>(machine, tiles, gradient, finished);
    write_groups<Config>(machine, params, block, output,
                         2 * TeamMember<Config>(machine.warp()).team, finished);
  }
}

}  // namespace sparkbench::volta
