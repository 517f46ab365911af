// The steps of the forward kernel whose K and V come in pieces, each once. schedules.h puts them in
// order.
//
// Up to 128 columns a warp has 32 rows of its own. Above, O of 32 rows needs the registers of two
// warps. So a pair of warps shares 32 rows: each has the scores of 32 of a tile's 64 keys, and 128
// columns of O. Through shared memory they exchange the row maxima once per tile, and their P for
// each piece of V. A barrier of the two warps follows each exchange, and precedes the next use of
// this memory.
#pragma once

#include "kernels/volta/forward/pair_rows.h"
#include "kernels/volta/forward/steps.h"

namespace sparkbench::volta {

/// The block's shared memory.
template <class Config>
struct PieceOperands {
  template <class Machine>
  SPARK_DEVICE explicit PieceOperands(Machine& machine)
      : tiles_(machine.template shared<PieceTiles<Config>>()) {}

  PieceTiles<Config>& tiles_;
};

/// A warp of this kernel, with rows of its own or half of a pair.
template <class Config, class Machine>
class PieceWarp : public ScoreWarp<Config, Machine, PieceOperands<Config>> {
  using Base = ScoreWarp<Config, Machine, PieceOperands<Config>>;
  using Tiles = PieceTiles<Config>;

 public:
  SPARK_DEVICE PieceWarp(Machine& machine, const ForwardParams& params) : Base(machine, params) {}
  using KeyPiece = typename Tiles::KeyPiece;
  using ValuePiece = typename Tiles::ValuePiece;
  using StagedKeys = StagedRows<KeyPiece, Config::kWarps>;
  using StagedValues = StagedRows<ValuePiece, Config::kWarps>;
  /// Whether no other warp has this warp's rows.
  static constexpr bool kIsAlone = Config::kColumnWarps == 1;
  /// Key steps of its scores that a piece of V has.
  static constexpr int kPieceSteps = Config::kKeySteps / 2;

  /// Q and the first piece of K to shared memory.
  SPARK_DEVICE void stage_first_tiles(int first_key) {
    stage_queries<Config>(machine_, params_, tiles_.q);
    this->begin(first_key);
    this->keep_bounds();
    StagedKeys staged;
    load_k(first_key, 0, staged);
    store_k(0, staged);
    machine_.barrier();
  }

  /// A piece of K or V from global memory to registers, and from there to shared memory.
  SPARK_DEVICE void load_k(int first_key, int part, StagedKeys& staged) {
    machine_.recompute_indices();
    const int column = StagedKeys::column_chunk(machine_) + KeyPiece::kChunksPerRow * part;
    load(params_.k, this->key_of(first_key), StagedKeys::first_row(machine_), column, staged);
  }
  SPARK_DEVICE void store_k(int part, const StagedKeys& staged) {
    machine_.recompute_indices();
    staged.store(machine_, tiles_.piece[part].k);
  }
  SPARK_DEVICE void load_v(int first_key, int part, StagedValues& staged) {
    machine_.recompute_indices();
    load(params_.v, this->key_of(first_key),
         key_of_value_row(StagedValues::first_row(machine_), part),
         StagedValues::column_chunk(machine_), staged);
  }
  SPARK_DEVICE void store_v(int part, const StagedValues& staged) {
    machine_.recompute_indices();
    staged.store(machine_, tiles_.piece[part].v);
  }

  /// Called once all of a tile is loaded: finds the next one, where a list tells it.
  SPARK_DEVICE void begin_next(int next_key) {
    this->find_next(next_key);
    this->move_on();
  }

  /// A warp's work for a tile that none of its rows see: its rows of K and V, for the other warps.
  SPARK_DEVICE void stage_for_others(int first_key) {
    StagedKeys k;
    StagedValues v;
    load_k(first_key, 1, k);
    store_k(1, k);
    end_piece();
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      load_v(first_key, part, v);
      store_v(part, v);
      end_piece();
    }
    begin_next(first_key + Config::kBlockN);
    load_k(first_key + Config::kBlockN, 0, k);
    store_k(0, k);
    end_piece();
  }

  /// S += Q K^T over the columns of a piece of K.
  template <class Of>
  SPARK_DEVICE void add_scores(int part, ScoreTile<Of>& tile, int half = 0) {
    machine_.recompute_indices();
    using QueryTile = typename Config::QueryTile;
    const int lane = machine_.lane();
    const auto q_place = QueryTile::lane_place(
        kWarpRows * pair() + kGridRows * Of::kFirstGroup + grid_operand_row(lane), 0);
    const int key = this->first_score_key(kHalfKeys * half) + grid_operand_key(lane);
    matmul_scores<Config::kAccumulator>(
        machine_,
        [&](int g, int chunk) {
          return machine_.template load_shared<Bits128>(
              tiles_.q.at(q_place, kGridRows * g, chunk + KeyPiece::kChunks * part));
        },
        tiles_.piece[part].k, KeyPiece::lane_place(key, 0), tile.score);
  }

  /// m = rowmax(m, S), over all warps' keys.
  template <class Of>
  SPARK_DEVICE SoftmaxOf<Of> row_maxima(const ScoreTile<Of>& tile) {
    if constexpr (kIsAlone) {
      return Base::row_maxima(tile);
    } else {
      machine_.recompute_indices();
      CombinedRows<typename Config::Rows, PairCombine<Config, Machine>> rows{rows_, combine()};
      return SoftmaxOf<Of>(machine_, tile.score, params_.scale_log2, rows);
    }
  }

  /// Stores P of the keys of a piece of V, for the warps that share rows. A half of a tile has only
  /// one piece's keys.
  template <class Of>
  SPARK_DEVICE void store_probabilities(int part, const ScoreTile<Of>& tile) {
    constexpr bool kIsHalf = Of::kKeySteps == kPieceSteps;
    machine_.recompute_indices();
    auto& place = tiles_.part_of_pair(part, pair());
#pragma unroll
    for (int g = 0; g < Of::kScoreGroups; ++g) {
#pragma unroll
      for (int step = 0; step < kPieceSteps; ++step) {
        store_quartets<Config::kAccumulator>(
            machine_, place.p[Of::kFirstGroup + g], kPieceSteps * this->column_warp() + step,
            tile.packed[g].pair[(kIsHalf ? 0 : kPieceSteps * part) + step]);
      }
    }
    meet();
  }

  /// O += P V for a piece.
  template <class Of = Config>
  SPARK_DEVICE void add_values(int part) {
    multiply<Of>(part, 0, scored_groups<Of>(o_));
  }

  /// The barriers of the warps that share rows, and of the block, which end each piece.
  SPARK_DEVICE void meet() {
    if constexpr (kIsAlone) {
      machine_.sync_warp();
    } else {
      machine_.template team_barrier<Config::kColumnWarps>();
    }
  }
  SPARK_DEVICE void end_piece() { machine_.barrier_of_warps(); }

  /// O / l and the log-sum-exp to global memory.
  SPARK_DEVICE void write() {
    machine_.recompute_indices();
    if constexpr (!kIsAlone) rows_.add_warps(combine());
    this->write_rows();
  }

 private:
  SPARK_DEVICE int pair() const { return machine_.warp() / Config::kColumnWarps; }
  /// The key, from the tile's first on, that a row of a piece of V has: half `part` of each warp's
  /// scores.
  SPARK_DEVICE static int key_of_value_row(int row, int part) {
    constexpr int kKeys = kPieceSteps * kGridColumns;
    return Config::kScoreKeys * (row / kKeys) + kKeys * part + row % kKeys;
  }
  SPARK_DEVICE auto combine() {
    return PairCombine<Config, Machine>{machine_, tiles_.part_of_pair(0, pair()).rows};
  }

  /// Loads the lane's rows from row `row` of a tile of keys on, those that the block sees, and its
  /// chunk of each.
  template <class Staged>
  SPARK_DEVICE void load(const ChunkedView<const Bits16>& tensor, int first_key, int row,
                         int column, Staged& staged) {
    const int key = first_key + row;
    const std::uint32_t chunk = this->key_address(
        tensor, key, [] { return 0; }, [] { return 0; });
    const int end = this->end_of_keys();
    const Bits16* const first =
        machine_.opaque(tensor.at_chunk(chunk + static_cast<std::uint32_t>(column)));
    staged.load_from_chunk(machine_, first, tensor.row_stride(), key,
                           column < params_.head_chunks ? end : 0);
  }

  /// sum += P V for a piece, for the warp's columns from 32 * first_block on.
  template <class Of, Accumulator kSum, int kColumnGroups>
  SPARK_DEVICE void multiply(int part, int first_block,
                             AccumulatorFragment<kSum> (&sum)[Of::kScoreGroups][kColumnGroups]) {
    constexpr int kChunks = ValuePiece::kChunks / Config::kColumnWarps;
    machine_.recompute_indices();
    const int lane = machine_.lane();
    auto& place = tiles_.part_of_pair(part, pair());
    matmul_probabilities<kSum, Tiles::kPassKeys, kColumnGroups / 2>(
        machine_,
        [&](int g, int chunk) {
          return load_probabilities(machine_, place.p[Of::kFirstGroup + g], chunk);
        },
        tiles_.piece[part].v,
        ValuePiece::lane_place(
            8 * ((lane >> 1) & 1) + (lane & 1),
            kChunks * this->column_warp() + 2 * grid_column_half(lane) + (lane >> 4)),
        first_block, sum, 0);
  }

  using Base::machine_;
  using Base::o_;
  using Base::params_;
  using Base::rows_;
  using Base::tiles_;
};

}  // namespace sparkbench::volta
