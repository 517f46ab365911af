// Fused attention forward (forward.h) at head_dim 64, where a warp's 32 rows of Q fit in registers:
// they are read from shared memory once, and P has their place there.
//
//    1  Q tile through shared memory to registers, the first K and V tiles to shared memory
//    2  for each tile of kBlockN keys that a row of the block may see:
//    3      S = Q K^T                                  tensor cores
//    4      the next K tile from global memory to registers
//    5      S = -inf where masked                      only tiles that the mask cuts
//    6      m = rowmax(m, S)                           registers
//    7      l += P = exp(S - m); P = 0 where dropped   the first keys
//    8      the next K tile to shared memory
//    9      P of kPassKeys as fp16 to the warp's own shared memory
//   10      the next V tile from global memory to registers
//   11      line 7                                     the other keys
//   12      O = rescale * O
//   13      O += P V for the keys of line 9            tensor cores
//   14      lines 9 and 13 for the other keys
//   15      the next V tile to shared memory
//   16  O / l, log-sum-exp to global memory
// K and V have two buffers: one barrier a tile. Registers hold O, Q and S, 192 of 255, so what a
// lane's addresses derive from is kept in one register each (LanePlaces), and all else computed
// anew. One loop serves masked tiles and others.
#pragma once

#include "kernels/tile/lane_rows.h"
#include "kernels/volta/forward_score_tile.h"
#include "kernels/volta/tile/output_accumulator.h"

namespace sparkbench::volta {

/// Where a lane's parts of the tiles are.
template <class Config>
struct LanePlaces {
  using Place = typename Config::KeyTile::LanePlace;
  Place k, v;                  // its operands, from tiles.k[0] and v[0] on: this tile's
  Place staged;                // what it copies: the next tile's
  ProbabilityPlaces p;         // from those of warp 0 on
  std::uint32_t staged_chunk;  // of 16 bytes in K and V: the next tile's, the first that it copies

  /// From one tile to the next.
  SPARK_DEVICE void advance(const ForwardParams& params) {
    constexpr int kOtherBuffer = sizeof(typename Config::KeyTile);
    k.offset_bytes ^= kOtherBuffer;
    v.offset_bytes ^= kOtherBuffer;
    staged.offset_bytes ^= kOtherBuffer;
    staged_chunk += static_cast<std::uint32_t>(Config::kBlockN * Config::KeyTile::kChunksPerRow) *
                    static_cast<std::uint32_t>(params.heads);
  }
  /// Keeps the compiler from computing addresses before the loop.
  template <class Machine>
  SPARK_DEVICE void keep(Machine& machine) {
    k.offset_bytes = machine.opaque(k.offset_bytes);
    v.offset_bytes = machine.opaque(v.offset_bytes);
    staged.offset_bytes = machine.opaque(staged.offset_bytes);
    p.store_bytes = machine.opaque(p.store_bytes);
    p.load_bytes = machine.opaque(p.load_bytes);
    staged_chunk = machine.opaque(staged_chunk);
  }
};

/// What a warp carries from one tile of keys to the next: 32 rows.
template <class Config>
struct HeldState {
  LanePlaces<Config> at;
  int warp_end;    // keys_of_warp()
  int staged_end;  // keys_of_block(), less the first key of the second tile that this lane copies
  LaneRows<Config::kAccumulator, typename Config::Scale> rows;
  Bits128 q[kRowGroups][Config::QueryTile::kChunksPerRow];
  AccumulatorFragment<Config::kOutput> o[kRowGroups][Config::kOutputGroups] = {};
};

/// Line 1, to registers.
template <class Config, class Machine>
SPARK_DEVICE void hold_queries(Machine& machine, ForwardTiles<Config>& tiles,
                               HeldState<Config>& state) {
  const auto place = Config::QueryTile::lane_place(
      kWarpRows * machine.warp() + grid_operand_row(machine.lane()), 0);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
    for (int chunk = 0; chunk < Config::QueryTile::kChunksPerRow; ++chunk) {
      state.q[g][chunk] =
          machine.template load_shared<Bits128>(tiles.q.at(place, kGridRows * g, chunk));
    }
  }
  machine.sync_warp();
}

/// Before the first tile.
template <class Config, class Machine>
SPARK_DEVICE LanePlaces<Config> first_places(Machine& machine, const ForwardParams& params) {
  using KeyTile = typename Config::KeyTile;
  using StagedKeys = typename Config::StagedKeys;
  constexpr int kWarpBytes = sizeof(typename Config::QueryTile) / Config::kWarps;
  const ForwardBlock block = locate_block<Config>(machine, params);
  const int lane = machine.lane();
  LanePlaces<Config> at;
  at.k = score_operand_place<KeyTile>(lane);
  at.v = output_operand_place<KeyTile>(lane);
  at.staged = StagedKeys::lane_place(machine);
  at.staged.offset_bytes += static_cast<int>(sizeof(KeyTile));
  at.p = probability_places<Config::kAccumulator, ForwardTiles<Config>::kPassKeys>(lane);
  at.p.store_bytes += kWarpBytes * machine.warp();
  at.p.load_bytes += kWarpBytes * machine.warp();
  const int key = Config::kBlockN + StagedKeys::first_row(machine);
  const int row = (block.batch * params.mask.seqlen_k + key) * params.heads + block.head;
  at.staged_chunk = static_cast<std::uint32_t>(row) * KeyTile::kChunksPerRow +
                    static_cast<std::uint32_t>(StagedKeys::column_chunk(machine));
  return at;
}

/// Lines 4 and 10: the kBlockN keys after those from first_key on.
template <class Config, class Machine>
SPARK_DEVICE void load_next_keys(Machine& machine, const ForwardParams& params, const Half* tensor,
                                 int first_key, const HeldState<Config>& state,
                                 typename Config::StagedKeys& staged) {
  const Half* const chunk =
      machine.opaque(tensor + static_cast<std::size_t>(state.at.staged_chunk) * 8);
  staged.load_from_chunk(machine, chunk, params.heads * Config::kHeadDim, 0,
                         state.staged_end - first_key);
}

/// Line 3.
template <class Config, class Machine>
SPARK_DEVICE void scores_of_held(Machine& machine, ForwardTiles<Config>& tiles,
                                 const HeldState<Config>& state, ScoreTile<Config>& tile) {
  matmul_scores<Config::kAccumulator>(
      machine, [&](int g, int chunk) { return state.q[g][chunk]; }, tiles.k[0], state.at.k,
      tile.score);
}

/// Line 5.
template <class Config, class Machine>
SPARK_DEVICE void mask_held(Machine& machine, const ForwardParams& params, int first_key,
                            int warp_end, ScoreTile<Config>& tile) {
  const int fewer_of_first_row = params.mask.grows() ? kWarpRows - 1 : 0;  // at most
  if (first_key + Config::kBlockN + fewer_of_first_row <= warp_end) return;
  machine.recompute_indices();
  const int block_row = locate_block<Config>(machine, params).first_row;
  mask_warp_scores<Config>(machine, params, block_row, first_key, tile);
}

/// Line 9.
template <class Config, class Machine>
SPARK_DEVICE void store_pass(Machine& machine, ForwardTiles<Config>& tiles,
                             const ScoreTile<Config>& tile, const ProbabilityPlaces& places,
                             int pass) {
  constexpr int kPassSteps = ForwardTiles<Config>::kPassKeys / kGridColumns;
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    tile.packed[g].template store<Config::kAccumulator>(machine, *tiles.probabilities(0, pass, g),
                                                        places, kPassSteps * pass);
  }
}

/// Line 13.
template <class Config, class Machine>
SPARK_DEVICE void multiply_pass(Machine& machine, ForwardTiles<Config>& tiles, int pass,
                                HeldState<Config>& state) {
  constexpr int kPassKeys = ForwardTiles<Config>::kPassKeys;
  matmul_probabilities<Config::kPv, kPassKeys>(
      machine,
      [&](int g, int chunk) {
        return load_probabilities(machine, *tiles.probabilities(0, pass, g), state.at.p, chunk);
      },
      tiles.v[0], state.at.v, 0, state.o, kPassKeys / kGridColumns * pass);
}

/// Lines 3 to 15.
template <class Config, class Machine>
SPARK_DEVICE void attend_held(Machine& machine, const ForwardParams& params, int first_key,
                              ForwardTiles<Config>& tiles, HeldState<Config>& state) {
  typename Config::StagedKeys staged;
  ScoreTile<Config> tile;
  state.at.keep(machine);
  scores_of_held<Config>(machine, tiles, state, tile);  // line 3
  load_next_keys<Config>(machine, params, params.tensors.k.data, first_key, state,
                         staged);                                       // line 4
  mask_held<Config>(machine, params, first_key, state.warp_end, tile);  // line 5
  if constexpr (Config::kHasDropout) draw_dropout<Config>(machine, params, first_key, tile.dropout);
  TileSoftmax<Config::kAccumulator> softmax(machine, tile.score, params.scale_log2,
                                            state.rows);                                   // line 6
  probabilities_of_steps<Config>(machine, params, 0, Config::kEarlySteps, softmax, tile);  // line 7
  staged.store(machine, tiles.k[0], state.at.staged);                                      // line 8
  store_pass<Config>(machine, tiles, tile, state.at.p, 0);                                 // line 9
  machine.sync_warp();
  load_next_keys<Config>(machine, params, params.tensors.v.data, first_key, state,
                         staged);  // line 10
  probabilities_of_steps<Config>(machine, params, Config::kEarlySteps, Config::kKeySteps, softmax,
                                 tile);  // line 11
  state.rows.add(machine, softmax.sum);
  rescale_output(machine, output_rows<Config>(machine, softmax.rescale).of, state.o);  // line 12
  multiply_pass<Config>(machine, tiles, 0, state);                                     // line 13
  store_pass<Config>(machine, tiles, tile, state.at.p, 1);                             // line 14
  machine.sync_warp();
  multiply_pass<Config>(machine, tiles, 1, state);
  staged.store(machine, tiles.v[0], state.at.staged);  // line 15
  state.at.advance(params);
  machine.barrier_of_warps();
}

/// Lines 4, 8, 10 and 15 of a tile that no row of the warp sees: its rows of K and V, for the
/// others.
template <class Config, class Machine>
SPARK_DEVICE void stage_for_others(Machine& machine, const ForwardParams& params, int first_key,
                                   ForwardTiles<Config>& tiles, HeldState<Config>& state) {
  typename Config::StagedKeys staged;
  load_next_keys<Config>(machine, params, params.tensors.k.data, first_key, state, staged);
  staged.store(machine, tiles.k[0], state.at.staged);
  load_next_keys<Config>(machine, params, params.tensors.v.data, first_key, state, staged);
  staged.store(machine, tiles.v[0], state.at.staged);
  state.at.advance(params);
  machine.barrier_of_warps();
}

/// The kernel where a warp holds its Q in registers.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward_held_queries(Machine& machine, const ForwardParams& params) {
  auto& tiles = machine.template shared<ForwardTiles<Config>>();
  HeldState<Config> state;
  stage_first_tiles<Config>(machine, params, tiles);  // line 1
  hold_queries<Config>(machine, tiles, state);
  state.at = first_places<Config>(machine, params);
  state.warp_end = keys_of_warp<Config>(machine, params);
  state.staged_end = keys_of_block<Config>(machine, params) - Config::kBlockN -
                     Config::StagedKeys::first_row(machine);
  int first_key = 0;  // line 2: tiles that the warp sees, then those that only later warps do
#pragma unroll 1
  for (; first_key < state.warp_end; first_key += Config::kBlockN) {
    attend_held<Config>(machine, params, first_key, tiles, state);
  }
#pragma unroll 1
  for (; first_key < keys_of_block<Config>(machine, params); first_key += Config::kBlockN) {
    stage_for_others<Config>(machine, params, first_key, tiles, state);
  }
  machine.recompute_indices();
  const ForwardBlock block = locate_block<Config>(machine, params);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {  // line 16
    const int first_row = block.first_row + kWarpRows * machine.warp() + kGridRows * g;
    write_output<Config>(machine, params, block, first_row, state.rows.finished(machine, g),
                         state.o[g], output_tile<Config>(tiles.q, machine.warp(), g));
  }
}

}  // namespace sparkbench::volta
