// A lane's addresses, in global and in shared memory, in the forward kernel's key loop, and what
// keeps the compiler from spending registers on them.
#pragma once

#include "kernels/volta/forward/walk.h"

namespace sparkbench::volta {

/// A tile from one of its rows on, a multiple of 16.
template <class Tile>
SPARK_DEVICE Tile& from_row(Tile& tile, int row) {
  auto* const rows = tile.from_row(row);
  return *reinterpret_cast<Tile*>(rows);
}

/// The chunk of K or V from which this lane copies the tile at `first_key`.
template <class Config, class Keys>
SPARK_DEVICE std::uint32_t staged_chunk(const Keys& keys, const ChunkedView<const Bits16>& tensor,
                                        int first_key) {
  using Staged = typename Config::StagedKeys;
  auto& machine = keys.machine();
  return keys.key_address(
      tensor, first_key, [&] { return Staged::first_row(machine); },
      [&] { return Staged::column_chunk(machine); });
}

/// Loads a tile of K or V, those of its keys that the block sees, to registers. All addresses are
/// computed here, so that none takes a register in the loop.
template <class Config, class Keys>
SPARK_DEVICE void load_keys(const Keys& keys, const ChunkedView<const Bits16>& tensor,
                            int first_key, typename Config::StagedKeys& staged) {
  using Staged = typename Config::StagedKeys;
  auto& machine = keys.machine();
  const Bits16* const chunk =
      machine.opaque(tensor.at_chunk(staged_chunk<Config>(keys, tensor, first_key)));
  staged.load_from_chunk(
      machine, chunk, tensor.row_stride(), Staged::first_row(machine),
      copied_rows<Config, Staged>(machine, keys.params(), keys.end_of_keys() - first_key),
      copies_last<Config, Staged>(machine, keys.params()));
}

/// Recomputes everything wherever it is used: no register is live across iterations. With two
/// buffers once per tile is enough; with one, which leaves fewer registers, also in each step.
template <class Config>
class AnewCursor {
 public:
  using Tiles = ForwardTiles<Config>;
  using Staged = typename Config::StagedKeys;
  static constexpr int kBuffers = Config::kLoop == KeyLoop::kTwoBuffers ? 2 : 1;

  template <class Keys>
  SPARK_DEVICE void start(const Keys& /*keys*/, Tiles& /*tiles*/, int /*first_key*/) {}
  template <class Machine>
  SPARK_DEVICE void begin_tile(Machine& machine) {
    machine.recompute_indices();
  }
  /// Call it before a tile is loaded or stored.
  template <class Machine>
  SPARK_DEVICE void begin_copy(Machine& machine) {
    if constexpr (kBuffers == 1) machine.recompute_indices();
  }
  template <class Keys>
  SPARK_DEVICE void advance(const Keys& /*keys*/) {}
  /// The buffer of K and V for the tile from first_key on.
  SPARK_DEVICE int buffer(int first_key) const {
    return kBuffers == 1 ? 0 : (first_key / Config::kBlockN) & 1;
  }

  template <class Keys>
  SPARK_DEVICE void load_k(const Keys& keys, int first_key, Staged& staged) const {
    load_keys<Config>(keys, keys.params().k, first_key, staged);
  }
  template <class Keys>
  SPARK_DEVICE void load_v(const Keys& keys, int first_key, Staged& staged) const {
    load_keys<Config>(keys, keys.params().v, first_key, staged);
  }
  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, const Staged& staged,
                          typename Config::KeyTile& tile) const {
    staged.store(machine, tile);
  }

  /// S += Q K^T, for keys first_row (0 or 32) and on of the tile.
  template <class Machine, int kSteps>
  SPARK_DEVICE void multiply_keys(
      Machine& machine, Tiles& tiles, int buffer,
      AccumulatorFragment<Config::kAccumulator> (&score)[kRowGroups][kSteps],
      int first_row = 0) const {
    matmul_scores<Config::kAccumulator>(machine, tiles.q, kWarpRows * machine.warp(),
                                        from_row(tiles.k[buffer], first_row), score);
  }
  /// Stores P of steps first_step.. as those of a chunk.
  template <class Machine, int kSteps>
  SPARK_DEVICE void store_probabilities(Machine& machine, Tiles& tiles, int buffer, int pass, int g,
                                        const PackedProbabilities<kSteps>& packed,
                                        int first_step) const {
    packed.template store<Config::kAccumulator>(
        machine, *tiles.probabilities(buffer, machine.warp(), pass, g), first_step);
  }
  /// sum += P V for a chunk of P and columns 32 * first_block and on. V's keys begin as in S.
  template <class Machine, Accumulator kSum, int kColumnGroups>
  SPARK_DEVICE void multiply_probabilities(
      Machine& machine, Tiles& tiles, int buffer, int pass, int first_step, int first_block,
      AccumulatorFragment<kSum> (&sum)[kRowGroups][kColumnGroups], int first_row = 0) const {
    typename Tiles::Probabilities* const p[kRowGroups] = {
        tiles.probabilities(buffer, machine.warp(), pass, 0),
        tiles.probabilities(buffer, machine.warp(), pass, 1)};
    matmul_probabilities<kSum>(machine, p, from_row(tiles.v[buffer], first_row), first_block, sum,
                               first_step);
  }
};

/// Keeps what a lane's addresses derive from in one register each, opaque to the compiler: another
/// chunk costs one instruction, another buffer one more. Q is in registers; P overlays its tile.
template <class Config>
class HeldCursor {
 public:
  using Tiles = ForwardTiles<Config>;
  using Staged = typename Config::StagedKeys;
  using KeyTile = typename Config::KeyTile;
  static constexpr bool kHasOneBuffer = Tiles::kBuffers == 1;

  /// Call it before the first tile, once its Q, K and V are in shared memory.
  template <class Keys>
  SPARK_DEVICE void start(const Keys& keys, Tiles& tiles, int first_key) {
    auto& machine = keys.machine();
    const ForwardParams& params = keys.params();
    hold_queries(machine, tiles);
    constexpr int kWarpBytes = sizeof(typename Config::QueryTile) / Config::kWarps;
    const int lane = machine.lane();
    k_ = score_operand_place<KeyTile>(lane);
    v_ = output_operand_place<KeyTile>(lane);
    staged_ = Staged::lane_place(machine);
    if constexpr (!kHasOneBuffer) staged_.offset_bytes += static_cast<int>(sizeof(KeyTile));
    p_ = probability_places<Config::kAccumulator, Tiles::kPassKeys>(lane);
    p_.store_bytes += kWarpBytes * machine.warp();
    p_.load_bytes += kWarpBytes * machine.warp();
    const int staged_key = keys.held_key(first_key + Config::kBlockN);
    k_chunk_ = staged_chunk<Config>(keys, params.k, staged_key);
    v_chunk_ = staged_chunk<Config>(keys, params.v, kHasOneBuffer ? first_key : staged_key);
    staged_end_ = copied_rows<Config, Staged>(machine, params,
                                              keys.end_of_keys() - Staged::first_row(machine));
  }
  /// Keeps the compiler from computing addresses before the loop.
  template <class Machine>
  SPARK_DEVICE void begin_tile(Machine& machine) {
    k_.offset_bytes = machine.opaque(k_.offset_bytes);
    v_.offset_bytes = machine.opaque(v_.offset_bytes);
    staged_.offset_bytes = machine.opaque(staged_.offset_bytes);
    p_.store_bytes = machine.opaque(p_.store_bytes);
    p_.load_bytes = machine.opaque(p_.load_bytes);
    k_chunk_ = machine.opaque(k_chunk_);
    v_chunk_ = machine.opaque(v_chunk_);
  }
  template <class Machine>
  SPARK_DEVICE void begin_copy(Machine& /*machine*/) {}
  /// Moves on to the next tile.
  template <class Keys>
  SPARK_DEVICE void advance(const Keys& keys) {
    constexpr int kOtherBuffer = kHasOneBuffer ? 0 : sizeof(KeyTile);
    k_.offset_bytes ^= kOtherBuffer;
    v_.offset_bytes ^= kOtherBuffer;
    staged_.offset_bytes ^= kOtherBuffer;
    keys.move_held(k_chunk_, keys.params().k.row);
    keys.move_held(v_chunk_, keys.params().v.row);
  }
  SPARK_DEVICE int buffer(int /*first_key*/) const { return 0; }  // the offsets include it

  template <class Keys>
  SPARK_DEVICE void load_k(const Keys& keys, int first_key, Staged& staged) const {
    load(keys, keys.params().k, k_chunk_, first_key, staged);
  }
  template <class Keys>
  SPARK_DEVICE void load_v(const Keys& keys, int first_key, Staged& staged) const {
    load(keys, keys.params().v, v_chunk_, first_key, staged);
  }
  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, const Staged& staged, KeyTile& tile) const {
    staged.store(machine, tile, staged_);
  }

  template <class Machine, int kSteps>
  SPARK_DEVICE void multiply_keys(
      Machine& machine, Tiles& tiles, int buffer,
      AccumulatorFragment<Config::kAccumulator> (&score)[kRowGroups][kSteps],
      int first_row = 0) const {
    matmul_scores<Config::kAccumulator>(
        machine, [&](int g, int chunk) { return q_[g][chunk]; },
        from_row(tiles.k[buffer], first_row), k_, score);
  }
  template <class Machine, int kSteps>
  SPARK_DEVICE void store_probabilities(Machine& machine, Tiles& tiles, int buffer, int pass, int g,
                                        const PackedProbabilities<kSteps>& packed,
                                        int first_step) const {
    packed.template store<Config::kAccumulator>(machine, *tiles.probabilities(buffer, 0, pass, g),
                                                p_, first_step);
  }
  template <class Machine, Accumulator kSum, int kColumnGroups>
  SPARK_DEVICE void multiply_probabilities(
      Machine& machine, Tiles& tiles, int buffer, int pass, int first_step, int first_block,
      AccumulatorFragment<kSum> (&sum)[kRowGroups][kColumnGroups], int first_row = 0) const {
    matmul_probabilities<kSum, Tiles::kPassKeys, kColumnGroups / 2>(
        machine,
        [&](int g, int chunk) {
          return load_probabilities(machine, *tiles.probabilities(buffer, 0, pass, g), p_, chunk);
        },
        from_row(tiles.v[buffer], first_row), v_, first_block, sum, first_step);
  }

 private:
  template <class Machine>
  SPARK_DEVICE void hold_queries(Machine& machine, Tiles& tiles) {
    const auto place = Config::QueryTile::lane_place(
        kWarpRows * machine.warp() + grid_operand_row(machine.lane()), 0);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int chunk = 0; chunk < Config::QueryTile::kChunks; ++chunk) {
        q_[g][chunk] =
            machine.template load_shared<Bits128>(tiles.q.at(place, kGridRows * g, chunk));
      }
    }
    machine.sync_warp();
  }
  /// Loads the tile from first_key on: the one after this one.
  template <class Keys>
  SPARK_DEVICE void load(const Keys& keys, const ChunkedView<const Bits16>& tensor,
                         std::uint32_t chunk, int first_key, Staged& staged) const {
    auto& machine = keys.machine();
    keys.find_from_held(chunk, first_key, tensor.row);
    staged.load_from_chunk(machine, machine.opaque(tensor.at_chunk(chunk)), tensor.row_stride(), 0,
                           staged_end_ - first_key);
  }

  typename KeyTile::LanePlace k_, v_;   // its operands, from tiles.k[0] and v[0] on: this tile's
  typename KeyTile::LanePlace staged_;  // what it copies: the next tile's
  ProbabilityPlaces p_;                 // from those of warp 0 on
  std::uint32_t k_chunk_, v_chunk_;     // the first that it copies of the next tile; block-sparse:
                                        // of the sequence's first
  int staged_end_;  // keys of the block that the lane copies, less its first of a tile
  Bits128 q_[kRowGroups][Config::QueryTile::kChunks];
};

template <class Config>
using KeyCursor =
    std::conditional_t<holds_queries(Config::kLoop), HeldCursor<Config>, AnewCursor<Config>>;

}  // namespace sparkbench::volta
