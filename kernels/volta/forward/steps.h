// The steps of the forward kernel's key loop, each once. schedules.h puts them in order.
#pragma once

#include "kernels/volta/forward/cursors.h"

namespace sparkbench::volta {

/// A warp's state for its 32 rows from one tile of keys to the next, and its work on a tile's
/// scores, however K and V come to shared memory. The block's coordinates are recomputed in each
/// step: no register is left to keep them. `Of` is the Config of a tile: for all of its keys and
/// rows, for a half of its keys (HalfOf), or for one group of rows (GroupOf).
template <class Config, class Machine, class Operands>
class ScoreWarp : protected Operands, public KeyWalk<Config, Machine> {
 public:
  using Tile = ScoreTile<Config>;

  /// S = -inf where the mask hides a key of a partial tile, or of its half.
  template <class Of>
  SPARK_DEVICE void mask(int first_key, ScoreTile<Of>& tile, int half = 0) {
    this->hide(first_key, half, tile);
  }

  /// Which elements of a tile, or of its half, are dropped.
  template <class Of>
  SPARK_DEVICE void draw_dropout(int first_key, ScoreTile<Of>& tile, int half = 0) {
    if constexpr (Config::kHasDropout) {
      const ForwardBlock block = locate_block<Config>(machine_, params_);
      tile.dropout.draw(machine_, params_, block.batch_head(params_), first_row_of<Of>(block),
                        this->first_score_key(this->key_of(first_key)) + kHalfKeys * half);
    }
  }
  /// The same by an offset that load_dropout_offset() loaded earlier; the load takes as long as a
  /// draw.
  SPARK_DEVICE void draw_dropout(int first_key, const DropoutOffset& offset, Tile& tile) {
    const ForwardBlock block = locate_block<Config>(machine_, params_);
    tile.dropout.draw(machine_, params_.dropout, offset, block.batch_head(params_),
                      first_row_of<Config>(block), this->key_of(first_key));
  }
  SPARK_DEVICE DropoutOffset load_dropout_offset() { return dropout_offset(machine_, params_); }

  /// m = rowmax(m, S).
  template <class Of>
  SPARK_DEVICE SoftmaxOf<Of> row_maxima(const ScoreTile<Of>& tile) {
    return SoftmaxOf<Of>(machine_, tile.score, params_.scale_log2, rows_);
  }

  /// l += P = exp(S - m), P = 0 where dropped, to fp16: steps [first_step, end_step) of the tile.
  template <class Of>
  SPARK_DEVICE void probabilities(int first_step, int end_step, SoftmaxOf<Of>& softmax,
                                  ScoreTile<Of>& tile) {
    form_probabilities<Of>(machine_, params_, first_step, end_step, softmax, tile);
  }
  /// l of the whole tile.
  template <class AnySoftmax>
  SPARK_DEVICE void add_sums(const AnySoftmax& softmax) {
    rows_.add(machine_, softmax.sum);
  }

  /// O = rescale * O.
  template <class Of = Config>
  SPARK_DEVICE void rescale(const SoftmaxOf<Of>& softmax) {
    rescale_rows<Of>(machine_, softmax, o_);
  }

 protected:
  using Base = KeyWalk<Config, Machine>;
  using Base::machine_;
  using Base::params_;

  SPARK_DEVICE ScoreWarp(Machine& machine, const ForwardParams& params)
      : Operands(machine), Base(machine, params) {}

  /// O / l and the log-sum-exp to global memory.
  SPARK_DEVICE void write_rows() {
    const ForwardBlock block = locate_block<Config>(machine_, params_);
    const int part_row = WalkOf<Config>::part_row(machine_, params_.sparse, block.head);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      const int first_row =
          block.first_row + first_row_of_warp<Config>(machine_) + kGroupsApart<Config> * g;
      write_output<Config>(machine_, params_, block, part_row, first_row,
                           rows_.finished(machine_, g), o_[g],
                           output_tile<Config>(this->tiles_.q, machine_.warp(), g),
                           WarpOutputTile<Config>::kChunksPerRow * this->column_warp());
    }
  }

  typename Config::Rows rows_;
  AccumulatorFragment<Config::kAccumulator> o_[kRowGroups][Config::kOutputGroups] = {};

 private:
  template <class Of>
  SPARK_DEVICE int first_row_of(const ForwardBlock& block) const {
    return block.first_row + first_row_of_warp<Config>(machine_) +
           kGroupsApart<Config> * Of::kFirstGroup;
  }
};

/// The block's shared memory, and a lane's addresses in it.
template <class Config>
struct TileOperands {
  template <class Machine>
  SPARK_DEVICE explicit TileOperands(Machine& machine)
      : tiles_(machine.template shared<ForwardTiles<Config>>()) {}

  ForwardTiles<Config>& tiles_;
  KeyCursor<Config> at_;
};

/// A warp that multiplies whole tiles of K and V.
template <class Config, class Machine>
class ForwardWarp : public ScoreWarp<Config, Machine, TileOperands<Config>> {
  using Base = ScoreWarp<Config, Machine, TileOperands<Config>>;

 public:
  SPARK_DEVICE ForwardWarp(Machine& machine, const ForwardParams& params) : Base(machine, params) {}
  using Staged = typename Config::StagedKeys;

  /// Q and the first tile of K, and of V if it has two buffers, to shared memory.
  SPARK_DEVICE void stage_first_tiles(int first_key) {
    stage_queries<Config>(machine_, params_, tiles_.q);
    const int buffer = at_.buffer(first_key);
    this->begin(first_key);
    const int key = this->key_of(first_key);
    Staged k, v;
    load_keys<Config>(walk(), params_.k, key, k);
    if constexpr (kHasOneBuffer) {
      k.store(machine_, tiles_.k[buffer]);
    } else {
      load_keys<Config>(walk(), params_.v, key, v);
      k.store(machine_, tiles_.k[buffer]);
      v.store(machine_, tiles_.v[buffer]);
    }
    machine_.barrier();
    at_.start(walk(), tiles_, first_key);
    this->keep_bounds();
  }

  /// K or V of a tile from global memory to registers, and from there to shared memory. With one
  /// buffer, K past the last tile is not loaded, and nothing reads what is stored then. The branch
  /// also keeps the compiler from moving exponentials after it, where their sums would hold all
  /// scores in registers.
  SPARK_DEVICE void load_k(int first_key, Staged& staged) {
    at_.begin_copy(machine_);
    const int key = this->next_key_of(first_key);
    if constexpr (kHasOneBuffer) {
      if (key >= this->end_of_keys()) return;
    }
    at_.load_k(walk(), key, staged);
  }
  SPARK_DEVICE void load_v(int first_key, Staged& staged) {
    at_.begin_copy(machine_);
    at_.load_v(walk(), kHasOneBuffer ? this->key_of(first_key) : this->next_key_of(first_key),
               staged);
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
    if constexpr (kHasOneBuffer) {
      at_.load_v(walk(), this->key_of(first_key), staged);
      at_.store(machine_, staged, tiles_.v[at_.buffer(first_key)]);
      machine_.barrier_of_warps();
      at_.load_k(walk(), this->next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.k[at_.buffer(next_key)]);
    } else {
      at_.load_k(walk(), this->next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.k[at_.buffer(next_key)]);
      at_.load_v(walk(), this->next_key_of(next_key), staged);
      at_.store(machine_, staged, tiles_.v[at_.buffer(next_key)]);
    }
    end_tile();
  }

  /// S = Q K^T.
  template <class Of>
  SPARK_DEVICE void scores(int first_key, ScoreTile<Of>& tile, int half = 0) {
    at_.multiply_keys(machine_, tiles_, at_.buffer(first_key), tile.score, kHalfKeys * half);
  }

  /// P of a chunk of kPassKeys keys, to the warp's own shared memory. A half of a tile is a chunk.
  template <class Of>
  SPARK_DEVICE void store_pass(int first_key, int pass, const ScoreTile<Of>& tile) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      at_.store_probabilities(machine_, tiles_, at_.buffer(first_key), pass, g, tile.packed[g],
                              kPassSteps * pass);
    }
  }

  /// O += P V for such a chunk.
  SPARK_DEVICE void multiply_pass(int first_key, int pass) {
    at_.multiply_probabilities(machine_, tiles_, at_.buffer(first_key), pass, kPassSteps * pass, 0,
                               o_);
  }

  /// The same for a half of a tile.
  SPARK_DEVICE void multiply_half(int first_key, int half) {
    at_.multiply_probabilities(machine_, tiles_, at_.buffer(first_key), 0, 0, 0, o_,
                               kHalfKeys * half);
  }

  /// O / l and the log-sum-exp to global memory.
  SPARK_DEVICE void write() {
    machine_.recompute_indices();
    this->write_rows();
  }

  /// Beginning and end of a tile. Lane-dependent indices are recomputed in between.
  SPARK_DEVICE void begin_tile(int first_key) {
    at_.begin_tile(machine_);
    this->find_next(first_key + Config::kBlockN);
  }
  SPARK_DEVICE void end_tile() {
    at_.advance(walk());
    this->move_on();
    SPARK_UNLESS_PLANTED(kTileBarrierMissing, machine_.barrier_of_warps());
  }

 protected:
  static constexpr bool kHasOneBuffer = has_one_buffer(Config::kLoop);
  static constexpr int kPassSteps = ForwardTiles<Config>::kPassKeys / kGridColumns;

  SPARK_DEVICE const KeyWalk<Config, Machine>& walk() const { return *this; }

  using Base::at_;
  using Base::machine_;
  using Base::o_;
  using Base::params_;
  using Base::tiles_;
};

}  // namespace sparkbench::volta
