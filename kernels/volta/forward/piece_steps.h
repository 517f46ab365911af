// The steps of the forward kernel whose K and V come in pieces, each once. schedules.h puts them in
// order.
//
// Up to 128 columns a warp has 32 rows of its own. Above, O of 32 rows needs the registers of two
// warps. So a pair of warps shares 32 rows: each has the scores of 32 of a tile's 64 keys, and 128
// columns of O. Through shared memory they exchange the row maxima once per tile, and their P for
// each piece of V. A barrier of the two warps follows each exchange, and precedes the next use of
// this memory.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/volta/forward/block.h"
#include "kernels/volta/forward/pair_rows.h"
#include "kernels/volta/forward/steps.h"
#include "kernels/volta/tile/output_accumulator.h"

namespace sparkbench::volta {

/// The Config for a tile that only one of a warp's groups of rows sees. By the cycle model it is
/// fastest with as few early exponentials as a piece of V needs, and with a mask by ends.
template <class Config, int kGroup>
struct GroupOf : Config {
  static constexpr int kScoreGroups = 1, kFirstGroup = kGroup;
  static constexpr int kEarlySteps = Config::kKeySteps / 2;
  static constexpr CutMask kCutMask = cut_masks::kEndsFirst;
};

/// Only for patterns: the loaded tile, as load_listed_tile() returns it.
struct LoadedTile {
  int tile_;
};
struct NoLoadedTile {};

/// A warp of this kernel, with rows of its own or half of a pair. Like ForwardWarp (steps.h), it
/// recomputes its block's coordinates in each step.
template <class Config, class Machine>
class PieceWarp : protected std::conditional_t<Config::kIsSparse, LoadedTile, NoLoadedTile> {
 public:
  using Tiles = PieceTiles<Config>;
  using KeyPiece = typename Tiles::KeyPiece;
  using ValuePiece = typename Tiles::ValuePiece;
  using StagedKeys = StagedRows<KeyPiece, Config::kWarps>;
  using StagedValues = StagedRows<ValuePiece, Config::kWarps>;
  using Tile = ScoreTile<Config>;
  using Softmax = SoftmaxOf<Config>;
  /// Whether no other warp has this warp's rows.
  static constexpr bool kIsAlone = Config::kColumnWarps == 1;
  /// Key steps of its scores that a piece of V has.
  static constexpr int kPieceSteps = Config::kKeySteps / 2;

  SPARK_DEVICE PieceWarp(Machine& machine, const ForwardParams& params)
      : machine_(machine), params_(params), tiles_(machine.template shared<Tiles>()) {}

  /// Q and the first piece of K to shared memory.
  SPARK_DEVICE void stage_first_tiles(int first_key) {
    stage_queries<Config>(machine_, params_, tiles_.q);
    if constexpr (Config::kIsPacked) {
      walk_ = walk_of_block<Config>(machine_, params_);
      all_seen_ = all_seen();
      end_of_warp_ = keys_of_warp().end;
    }
    if constexpr (Config::kIsSparse) find_tile(first_key);
    StagedKeys staged;
    load_k(first_key, 0, staged);
    store_k(0, staged);
    machine_.barrier();
  }

  /// A piece of K or V from global memory to registers, and from there to shared memory.
  SPARK_DEVICE void load_k(int first_key, int part, StagedKeys& staged) {
    machine_.recompute_indices();
    const int column = StagedKeys::column_chunk(machine_) + KeyPiece::kChunksPerRow * part;
    load(params_.k, key_of(first_key), StagedKeys::first_row(machine_), column, staged);
  }
  SPARK_DEVICE void store_k(int part, const StagedKeys& staged) {
    machine_.recompute_indices();
    staged.store(machine_, tiles_.piece[part].k);
  }
  SPARK_DEVICE void load_v(int first_key, int part, StagedValues& staged) {
    machine_.recompute_indices();
    load(params_.v, key_of(first_key), key_of_value_row(StagedValues::first_row(machine_), part),
         StagedValues::column_chunk(machine_), staged);
  }
  SPARK_DEVICE void store_v(int part, const StagedValues& staged) {
    machine_.recompute_indices();
    staged.store(machine_, tiles_.piece[part].v);
  }

  /// Called once all of a tile is loaded: finds the next one, where a list tells it.
  SPARK_DEVICE void begin_next(int next_key) {
    if constexpr (Config::kIsSparse) find_tile(next_key);
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

  /// The steps of a tile, for both groups of rows (`Of` is Config) or for one (its GroupOf).
  ///
  /// S += Q K^T over the columns of a piece of K.
  template <class Of>
  SPARK_DEVICE void add_scores(int part, ScoreTile<Of>& tile) {
    multiply_keys<Of>(part, 0, tile.score);
  }

  /// S = -inf where the mask hides a key of a partial tile.
  template <class Of>
  SPARK_DEVICE void mask(int first_key, ScoreTile<Of>& tile) {
    const Range seen = Config::kIsPacked ? all_seen_ : all_seen();
    if (seen.contains(Range{first_key, first_key + Config::kBlockN})) return;
    machine_.recompute_indices();
    hide_cut_scores<Of>(machine_, mask_of_block<Config>(machine_, params_), seen,
                        rows_of_warp<Config>(machine_, params_).begin, first_score_key(first_key),
                        tile);
  }

  /// Which elements of the warp's scores are dropped.
  template <class Of>
  SPARK_DEVICE void draw_dropout(int first_key, ScoreTile<Of>& tile) {
    draw(first_key, 0, tile.dropout, Of::kFirstGroup);
  }

  /// m = rowmax(m, S), over all warps' keys.
  template <class Of>
  SPARK_DEVICE SoftmaxOf<Of> row_maxima(const ScoreTile<Of>& tile) {
    if constexpr (kIsAlone) {
      return SoftmaxOf<Of>(machine_, tile.score, params_.scale_log2, rows_);
    } else {
      machine_.recompute_indices();
      CombinedRows<typename Config::Rows, PairCombine<Config, Machine>> rows{rows_, combine()};
      return SoftmaxOf<Of>(machine_, tile.score, params_.scale_log2, rows);
    }
  }

  /// l += P = exp(S - m), P = 0 where dropped, to fp16: steps [first_step, end_step) of the tile.
  template <class Of>
  SPARK_DEVICE void probabilities(int first_step, int end_step, SoftmaxOf<Of>& softmax,
                                  ScoreTile<Of>& tile) {
    form_probabilities<Of>(machine_, params_, first_step, end_step, softmax, tile);
  }
  template <class AnySoftmax>
  SPARK_DEVICE void add_sums(const AnySoftmax& softmax) {
    rows_.add(machine_, softmax.sum);
  }

  /// Stores P of the keys of a piece of V, for the warps that share rows.
  template <class Of>
  SPARK_DEVICE void store_probabilities(int part, const ScoreTile<Of>& tile) {
    store_packed(part, kPieceSteps * part, tile);
  }

  /// O = rescale * O.
  template <class Of = Config>
  SPARK_DEVICE void rescale(const SoftmaxOf<Of>& softmax) {
    rescale_rows<Of>(machine_, softmax, o_);
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
    ForwardBlock block = locate_block<Config>(machine_, params_);
    block.part_row = first_part_row<Config>(machine_, params_.sparse, block.head);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      const int first_row =
          block.first_row + first_row_of_warp<Config>(machine_) + kGroupsApart<Config> * g;
      write_output<Config>(machine_, params_, block, first_row, rows_.finished(machine_, g), o_[g],
                           output_tile<Config>(tiles_.q, machine_.warp(), g),
                           WarpOutputTile<Config>::kChunksPerRow * half());
    }
  }

  /// As those of ForwardWarp.
  SPARK_DEVICE Range keys_of_block() const {
    return sparkbench::keys_of_block<Config>(machine_, params_);
  }
  SPARK_DEVICE Range keys_of_warp() const { return volta::keys_of_warp<Config>(machine_, params_); }
  template <int kGroup>
  SPARK_DEVICE Range keys_of_group() const {
    return volta::keys_of_group<Config, kGroup>(machine_, params_);
  }
  /// The first tile that the warp's second group sees, or the end of the warp's tiles.
  SPARK_DEVICE int first_of_later_rows() const {
    return least_of(first_tile<Config::kBlockN>(keys_of_group<1>()), end_of_warp());
  }
  SPARK_DEVICE int end_of_warp() const {
    return Config::kIsPacked ? end_of_warp_ : keys_of_warp().end;
  }
  SPARK_DEVICE int next_of_warp(int first_key) const {
    if constexpr (Config::kIsPacked) {
      return next_tile<Config::kBlockN>(Range{first_key, end_of_warp_}, first_key);
    } else {
      return next_tile<Config::kBlockN>(keys_of_warp(), first_key);
    }
  }

 protected:
  /// Loads a tile of a pattern, as ForwardWarp does. It is not used any more once the next is
  /// loaded.
  SPARK_DEVICE void find_tile(int place) {
    this->tile_ = load_listed_tile<Config>(machine_, params_, place);
  }
  SPARK_DEVICE int key_of(int first_key) const {
    if constexpr (Config::kIsSparse) {
      return first_of_tile(this->tile_);
    } else {
      return first_key;
    }
  }
  SPARK_DEVICE int end_of_block() const { return params_.mask.seqlen_k; }

  /// S += Q K^T for a piece of K, for the warp's keys from first_row on.
  template <class Of, int kSteps>
  SPARK_DEVICE void multiply_keys(
      int part, int first_row,
      AccumulatorFragment<Config::kAccumulator> (&score)[Of::kScoreGroups][kSteps]) {
    machine_.recompute_indices();
    using QueryTile = typename Config::QueryTile;
    const int lane = machine_.lane();
    const auto q_place = QueryTile::lane_place(
        kWarpRows * pair() + kGridRows * Of::kFirstGroup + grid_operand_row(lane), 0);
    matmul_scores<Config::kAccumulator>(
        machine_,
        [&](int g, int chunk) {
          return machine_.template load_shared<Bits128>(
              tiles_.q.at(q_place, kGridRows * g, chunk + KeyPiece::kChunks * part));
        },
        tiles_.piece[part].k,
        KeyPiece::lane_place(first_score_key(first_row) + grid_operand_key(lane), 0), score);
  }
  /// Which elements are dropped, for the warp's keys of a tile from `first` on, and its rows from
  /// first_group on.
  template <class Dropout>
  SPARK_DEVICE void draw(int first_key, int first, Dropout& dropout, int first_group = 0) {
    if constexpr (Config::kHasDropout) {
      const ForwardBlock block = locate_block<Config>(machine_, params_);
      dropout.draw(machine_, params_, block.batch_head(params_),
                   block.first_row + first_row_of_warp<Config>(machine_) +
                       kGroupsApart<Config> * first_group,
                   first_score_key(key_of(first_key)) + first);
    }
  }
  /// P of the packed steps first_step and on, for a piece of V.
  template <class Of>
  SPARK_DEVICE void store_packed(int part, int first_step, const ScoreTile<Of>& tile) {
    machine_.recompute_indices();
    auto& place = tiles_.part_of_pair(part, pair());
#pragma unroll
    for (int g = 0; g < Of::kScoreGroups; ++g) {
#pragma unroll
      for (int step = 0; step < kPieceSteps; ++step) {
        store_quartets<Config::kAccumulator>(machine_, place.p[Of::kFirstGroup + g],
                                             kPieceSteps * half() + step,
                                             tile.packed[g].pair[first_step + step]);
      }
    }
    meet();
  }

 private:
  SPARK_DEVICE int pair() const { return machine_.warp() / Config::kColumnWarps; }
  SPARK_DEVICE int half() const { return kIsAlone ? 0 : machine_.warp() % Config::kColumnWarps; }
  SPARK_DEVICE int first_score_key(int first_key) const {
    return first_key + Config::kScoreKeys * half();
  }
  /// The key, from the tile's first on, that a row of a piece of V has: half `part` of each warp's
  /// scores.
  SPARK_DEVICE static int key_of_value_row(int row, int part) {
    constexpr int kKeys = kPieceSteps * kGridColumns;
    return Config::kScoreKeys * (row / kKeys) + kKeys * part + row % kKeys;
  }
  SPARK_DEVICE auto combine() {
    return PairCombine<Config, Machine>{machine_, tiles_.part_of_pair(0, pair()).rows};
  }
  SPARK_DEVICE Range all_seen() const {
    return mask_of_block<Config>(machine_, params_)
        .keys_of_all(rows_of_warp<Config>(machine_, params_));
  }

  /// Loads the lane's rows from row `row` of a tile of keys on, those that the block sees, and its
  /// chunk of each.
  template <class Staged>
  SPARK_DEVICE void load(const ChunkedView<const Half>& tensor, int first_key, int row, int column,
                         Staged& staged) {
    const int key = first_key + row;
    std::uint32_t chunk;
    int end;
    if constexpr (Config::kIsPacked) {
      chunk = tensor.chunk(0, walk_.first_k + key, params_.groups.key_head(machine_.block(0)));
      end = walk_.end;
    } else if constexpr (Config::kIsSparse) {
      chunk = tensor.chunk(machine_.block(2), key, params_.groups.key_head(machine_.block(0)));
      end = end_of_block();
    } else {
      const ForwardBlock block = locate_block<Config>(machine_, params_);
      chunk = tensor.chunk(block.batch, key, block.key_head(params_));
      end = keys_of_block().end;
    }
    const Half* const first =
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
        ValuePiece::lane_place(8 * ((lane >> 1) & 1) + (lane & 1),
                               kChunks * half() + 2 * grid_column_half(lane) + (lane >> 4)),
        first_block, sum, 0);
  }

 protected:
  Machine& machine_;
  const ForwardParams& params_;
  Tiles& tiles_;
  KeyWalk walk_;     // varlen only
  Range all_seen_;   // varlen only
  int end_of_warp_;  // varlen only
  typename Config::Rows rows_;
  AccumulatorFragment<Config::kAccumulator> o_[kRowGroups][Config::kOutputGroups] = {};
};

}  // namespace sparkbench::volta
