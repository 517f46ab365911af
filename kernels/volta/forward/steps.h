// The steps of the forward kernel's key loop, each once. schedules.h puts them in order.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/volta/forward/cursors.h"
#include "kernels/volta/tile/output_accumulator.h"
namespace sparkbench::volta {

/// A tile of scores of a warp, and what they become. Its groups of rows are those that Config has
/// scores of.
template <class Config>
struct ScoreTile {
  using Layout = typename Config::Layout;
  static constexpr int kKeys = Config::kScoreKeys, kGroups = Config::kScoreGroups;

  AccumulatorFragment<Config::kAccumulator> score[kGroups][Config::kKeySteps] = {};
  TileDropout<Layout, Config::kScoreKeys, kGroups, kGroupsApart<Config>> dropout;
  float p[kGroups][Config::kKeySteps][Layout::kElements];  // times 2^kLog2 of Config::Scale
  PackedProbabilities<Config::kKeySteps> packed[kGroups];
};

/// The online softmax of a tile's scores.
template <class Config>
using SoftmaxOf =
    TileSoftmax<typename Config::Layout, kRowGroups, Config::kFirstGroup, Config::kScoreGroups>;

/// The groups of rows that Config has scores of, of all groups' fragments.
template <class Config, class Fragment, int kColumnGroups>
SPARK_DEVICE auto& scored_groups(Fragment (&of_groups)[kRowGroups][kColumnGroups]) {
  using Groups = Fragment[Config::kScoreGroups][kColumnGroups];
  return reinterpret_cast<Groups&>(of_groups[Config::kFirstGroup]);
}

/// S = -inf where the mask hides a key: the scores of a tile's groups of rows, of a warp's from
/// `first_row` on, for the tile's keys from `first_key` on. All of the warp's rows see the keys
/// `seen`.
template <class Config, class Machine>
SPARK_DEVICE void hide_cut_scores(Machine& machine, const KeyMask& mask, const Range& seen,
                                  int first_row, int first_key, ScoreTile<Config>& tile) {
  using Layout = typename Config::Layout;
  using Tile = ScoreTile<Config>;
  const auto row_of_group = [=](int g) {
    return first_row + kGroupsApart<Config> * (Config::kFirstGroup + g);
  };
  if constexpr (!Config::kCutMask.is_by_ends) {
#pragma unroll
    for (int g = 0; g < Tile::kGroups; ++g) {
      mask_scores<Layout>(tile.score[g], mask, machine.lane(), row_of_group(g), first_key);
    }
  } else {
    constexpr int kKeys = Config::kCutsWholeTiles ? Tile::kKeys : kCutKeys;
    constexpr int kSteps = kKeys / Layout::kStepKeys;
#pragma unroll
    for (int part = 0; part < Tile::kKeys / kKeys; ++part) {
      hide_outside<Layout, kSteps, Tile::kGroups>(
          mask, seen, machine.lane(), row_of_group, first_key + kKeys * part,
          [&](int g, int step, int i) { Layout::hide(tile.score[g][kSteps * part + step], i); });
    }
  }
}

/// l += P = exp(S - m), P = 0 where dropped, to fp16: steps [first_step, end_step) of a tile.
template <class Config, class Machine>
SPARK_DEVICE void form_probabilities(Machine& machine, const ForwardParams& params, int first_step,
                                     int end_step, SoftmaxOf<Config>& softmax,
                                     ScoreTile<Config>& tile) {
  softmax.exponentials(machine, tile.score, first_step, end_step, params.scale_log2, tile.p);
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    using Scale = typename Config::Scale;
    if constexpr (Config::kHasDropout) {
      tile.packed[g].template pack_kept<Scale>(machine, tile.p[g], first_step, end_step,
                                               tile.dropout, g);
    } else {
      tile.packed[g].template pack<Scale>(machine, tile.p[g], first_step, end_step);
    }
  }
}

/// O = rescale * O, of a tile's groups of rows.
template <class Config, class Machine>
SPARK_DEVICE void rescale_rows(
    Machine& machine, const SoftmaxOf<Config>& softmax,
    AccumulatorFragment<Config::kAccumulator> (&o)[kRowGroups][Config::kOutputGroups]) {
  RowValues<typename Config::Layout, Config::kScoreGroups> of_output;
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    copy_rows(softmax.rescale.of[Config::kFirstGroup + g], of_output.of[g]);
  }
  SPARK_UNLESS_PLANTED(kOutputNotRescaled,
                       rescale_output(machine, of_output.of, scored_groups<Config>(o)));
}

/// A warp of the forward kernel: what it carries from one tile of keys to the next for its 32 rows,
/// and what it can do with a tile. The block's coordinates are recomputed in each step: no register
/// is left to keep them.
template <class Config, class Machine>
class ForwardWarp {
 public:
  using Tile = ScoreTile<Config>;
  using Staged = typename Config::StagedKeys;
  using Softmax = SoftmaxOf<Config>;

  SPARK_DEVICE ForwardWarp(Machine& machine, const ForwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<ForwardTiles<Config>>()) {}

  /// Q and the first tile of K, and of V if it has two buffers, to shared memory.
  SPARK_DEVICE void stage_first_tiles(int first_key) {
    stage_queries<Config>(machine_, params_, tiles_.q);
    const int buffer = at_.buffer(first_key);
    KeyWalk walk{};
    if constexpr (Config::kIsPacked) walk = walk_of_block<Config>(machine_, params_);
    if constexpr (Config::kIsSparse) {
      tile_ = load_listed_tile<Config>(machine_, params_, first_key);
    }
    const int key = key_of(first_key);
    Staged k, v;
    load_keys<Config>(machine_, params_, walk, params_.k, key, k);
    if constexpr (has_one_buffer(Config::kLoop)) {
      k.store(machine_, tiles_.k[buffer]);
    } else {
      load_keys<Config>(machine_, params_, walk, params_.v, key, v);
      k.store(machine_, tiles_.k[buffer]);
      v.store(machine_, tiles_.v[buffer]);
    }
    machine_.barrier();
    at_.start(machine_, params_, tiles_, walk, first_key);
    if constexpr (Config::kIsPacked) end_of_warp_ = keys_of_warp().end;
    if constexpr (Config::kIsSparse) return;
    all_seen_ = mask_of_block<Config>(machine_, params_)
                    .keys_of_all(rows_of_warp<Config>(machine_, params_));
  }

  /// K or V of a tile from global memory to registers, and from there to shared memory. With one
  /// buffer, K past the last tile is not loaded, and nothing reads what is stored then. The branch
  /// also keeps the compiler from moving exponentials after it, where their sums would hold all
  /// scores in registers.
  SPARK_DEVICE void load_k(int first_key, Staged& staged) {
    at_.begin_copy(machine_);
    const int key = next_key_of(first_key);
    if constexpr (has_one_buffer(Config::kLoop)) {
      if (key >= end_of_block()) return;
    }
    at_.load_k(machine_, params_, key, staged);
  }
  SPARK_DEVICE void load_v(int first_key, Staged& staged) {
    at_.begin_copy(machine_);
    at_.load_v(machine_, params_,
               has_one_buffer(Config::kLoop) ? key_of(first_key) : next_key_of(first_key), staged);
  }
  SPARK_DEVICE void store_k(int first_key, const Staged& staged) {
    at_.begin_copy(machine_);
    at_.store(machine_, staged, tiles_.k[at_.buffer(first_key)]);
  }
  SPARK_DEVICE void store_v(int first_key, const Staged& staged) {
    at_.begin_copy(machine_);
    at_.store(machine_, staged, tiles_.v[at_.buffer(first_key)]);
  }
  /// A warp's work for a tile that none of its rows see: its rows of K and V, for the other warps.
  SPARK_DEVICE void stage_for_others(int first_key) {
    const int next_key = first_key + Config::kBlockN;
    Staged staged;
    begin_tile(first_key);
    if constexpr (has_one_buffer(Config::kLoop)) {
      at_.load_v(machine_, params_, key_of(first_key), staged);
      at_.store(machine_, staged, tiles_.v[at_.buffer(first_key)]);
      machine_.barrier_of_warps();
      at_.load_k(machine_, params_, next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.k[at_.buffer(next_key)]);
    } else {
      at_.load_k(machine_, params_, next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.k[at_.buffer(next_key)]);
      at_.load_v(machine_, params_, next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.v[at_.buffer(next_key)]);
    }
    end_tile();
  }

  /// S = Q K^T.
  SPARK_DEVICE void scores(int first_key, Tile& tile) {
    at_.multiply_keys(machine_, tiles_, at_.buffer(first_key), tile.score);
  }

  /// S = -inf where the mask hides a key of a partial tile.
  template <class Of>
  SPARK_DEVICE void mask(int first_key, ScoreTile<Of>& tile) {
    const Range seen = all_seen();
    if (seen.contains(Range{first_key, first_key + SPARK_PLANTED(kCutTileAsWhole, Of::kScoreKeys,
                                                                 Of::kScoreKeys - 1)}))
      return;
    machine_.recompute_indices();
    hide_cut_scores<Of>(machine_, mask_of_block<Config>(machine_, params_), seen,
                        rows_of_warp<Config>(machine_, params_).begin, first_key, tile);
  }

  /// Which elements of a tile are dropped.
  SPARK_DEVICE void draw_dropout(int first_key, Tile& tile) { draw(first_key, 0, tile.dropout); }
  /// The same by an offset that load_dropout_offset() loaded earlier; the load takes as long as a
  /// draw.
  SPARK_DEVICE void draw_dropout(int first_key, const DropoutOffset& offset, Tile& tile) {
    const ForwardBlock block = locate_block<Config>(machine_, params_);
    tile.dropout.draw(machine_, params_.dropout, offset, block.batch_head(params_),
                      block.first_row + kWarpRows * machine_.warp(), column_of(first_key));
  }
  SPARK_DEVICE DropoutOffset load_dropout_offset() { return dropout_offset(machine_, params_); }

  /// m = rowmax(m, S).
  SPARK_DEVICE Softmax row_maxima(const Tile& tile) {
    return Softmax(machine_, tile.score, params_.scale_log2, rows_);
  }

  /// l += P = exp(S - m), P = 0 where dropped, to fp16: steps [first_step, end_step) of the tile.
  SPARK_DEVICE void probabilities(int first_step, int end_step, Softmax& softmax, Tile& tile) {
    form_probabilities<Config>(machine_, params_, first_step, end_step, softmax, tile);
  }
  /// l of the whole tile.
  SPARK_DEVICE void add_sums(const Softmax& softmax) { rows_.add(machine_, softmax.sum); }

  /// P of a chunk of kPassKeys keys, to the warp's own shared memory.
  SPARK_DEVICE void store_pass(int first_key, int pass, const Tile& tile) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      at_.store_probabilities(machine_, tiles_, at_.buffer(first_key), pass, g, tile.packed[g],
                              kPassSteps * pass);
    }
  }

  /// O = rescale * O.
  SPARK_DEVICE void rescale(const Softmax& softmax) { rescale_rows<Config>(machine_, softmax, o_); }

  /// O += P V for such a chunk.
  SPARK_DEVICE void multiply_pass(int first_key, int pass) {
    at_.multiply_probabilities(machine_, tiles_, at_.buffer(first_key), pass, kPassSteps * pass, 0,
                               o_);
  }

  /// O / l and the log-sum-exp to global memory.
  SPARK_DEVICE void write() {
    machine_.recompute_indices();
    ForwardBlock block = locate_block<Config>(machine_, params_);
    block.part_row = first_part_row<Config>(machine_, params_.sparse, block.head);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      const int first_row = block.first_row + kWarpRows * machine_.warp() + kGridRows * g;
      write_output<Config>(machine_, params_, block, first_row, rows_.finished(machine_, g), o_[g],
                           output_tile<Config>(tiles_.q, machine_.warp(), g));
    }
  }

  /// Beginning and end of a tile. Lane-dependent indices are recomputed in between.
  SPARK_DEVICE void begin_tile(int first_key) {
    at_.begin_tile(machine_);
    if constexpr (Config::kIsSparse) {
      next_tile_ = load_listed_tile<Config>(machine_, params_, first_key + Config::kBlockN);
    }
  }
  SPARK_DEVICE void end_tile() {
    at_.advance(params_);
    if constexpr (Config::kIsSparse) tile_ = next_tile_;
    SPARK_UNLESS_PLANTED(kTileBarrierMissing, machine_.barrier_of_warps());
  }
  SPARK_DEVICE Machine& machine() { return machine_; }

  /// Keys that some row of the block, of the warp, sees.
  SPARK_DEVICE Range keys_of_block() const {
    return sparkbench::keys_of_block<Config>(machine_, params_);
  }
  SPARK_DEVICE Range keys_of_warp() const { return volta::keys_of_warp<Config>(machine_, params_); }
  /// The end of the keys that the warp sees, and the warp's next tile: each iteration of the loop
  /// needs them.
  SPARK_DEVICE int end_of_warp() const {
    if constexpr (Config::kIsPacked) {
      return end_of_warp_;
    } else {
      return SPARK_PLANTED(kTileOfLastKeySkipped, keys_of_warp().end, keys_of_warp().end - 1);
    }
  }
  SPARK_DEVICE int next_of_warp(int first_key) const {
    if constexpr (Config::kIsPacked) {
      return next_tile<Config::kBlockN>(Range{first_key, end_of_warp_}, first_key);
    } else {
      return next_tile<Config::kBlockN>(keys_of_warp(), first_key);
    }
  }

 protected:
  static constexpr int kPassSteps = ForwardTiles<Config>::kPassKeys / kGridColumns;
  static constexpr int kPasses = Config::kKeySteps / kPassSteps;

  /// The first key of this tile, and of the next one. Block-sparse tiles are counted by position;
  /// the list has their keys.
  SPARK_DEVICE int key_of(int first_key) const {
    if constexpr (Config::kIsSparse) {
      return first_of_tile(tile_);
    } else {
      return first_key;
    }
  }
  SPARK_DEVICE int next_key_of(int next_key) const {
    if constexpr (Config::kIsSparse) {
      return first_of_tile(next_tile_);
    } else {
      return next_key;
    }
  }
  /// Which elements are dropped, of a tile's keys from `first` on.
  template <class Dropout>
  SPARK_DEVICE void draw(int first_key, int first, Dropout& dropout) {
    if constexpr (Config::kHasDropout) {
      const ForwardBlock block = locate_block<Config>(machine_, params_);
      dropout.draw(machine_, params_, block.batch_head(params_),
                   block.first_row + kWarpRows * machine_.warp(), column_of(first_key) + first);
    }
  }
  /// This tile's first column, as dropout counts.
  SPARK_DEVICE int column_of(int first_key) const { return key_of(first_key); }
  /// After the block's last tile its list has one that begins there.
  SPARK_DEVICE int end_of_block() const {
    if constexpr (Config::kIsSparse) {
      return params_.mask.seqlen_k;
    } else {
      return at_.end_of_block(machine_, params_);
    }
  }
  /// Keys that every row of the warp sees.
  SPARK_DEVICE Range all_seen() const {
    if constexpr (Config::kLoop == KeyLoop::kHeldQueries || Config::kIsPacked) {
      return all_seen_;
    } else {
      return mask_of_block<Config>(machine_, params_)
          .keys_of_all(rows_of_warp<Config>(machine_, params_));
    }
  }

  Machine& machine_;
  const ForwardParams& params_;
  ForwardTiles<Config>& tiles_;
  KeyCursor<Config> at_;
  Range all_seen_;        // kHeldQueries and varlen only
  int end_of_warp_;       // varlen only
  int tile_, next_tile_;  // block-sparse only
  typename Config::Rows rows_;
  AccumulatorFragment<Config::kAccumulator> o_[kRowGroups][Config::kOutputGroups] = {};
};

}  // namespace sparkbench::volta
