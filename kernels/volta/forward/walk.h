// A warp's walk over the tiles of keys that its block visits, one class for each policy of
// tile/walk.h. Only the walk knows which tiles there are, where their keys lie in memory, and which
// scores the mask hides. A tile's *position* is its first key; in a pattern's list, tile i of all
// listed ones has position kBlockN i.
#pragma once

#include "kernels/volta/forward/scores.h"

namespace sparkbench::volta {

/// Equally long sequences. Bounds are recomputed with each tile: no register is left for them.
template <class Config, class Machine>
class DenseKeys {
 public:
  SPARK_DEVICE DenseKeys(Machine& machine, const ForwardParams& params)
      : machine_(machine), params_(params) {}

  SPARK_DEVICE Machine& machine() const { return machine_; }
  SPARK_DEVICE const ForwardParams& params() const { return params_; }

  /// Keys that some row of the block sees, of the warp, and of one of the warp's groups of rows.
  SPARK_DEVICE Range keys_of_block() const {
    return sparkbench::keys_of_block<Config>(machine_, params_);
  }
  SPARK_DEVICE Range keys_of_warp() const {
    return mask_of_block<Config>(machine_, params_).keys_of_any(rows_of_warp());
  }
  template <int kGroup>
  SPARK_DEVICE Range keys_of_group() const {
    const int first_row = rows_of_warp().begin + kGroup * kGroupsApart<Config>;
    return mask_of_block<Config>(machine_, params_).keys_of_any({first_row, first_row + kGridRows});
  }
  SPARK_DEVICE int end_of_warp() const {
    return SPARK_PLANTED(kTileOfLastKeySkipped, keys_of_warp().end, keys_of_warp().end - 1);
  }
  /// The warp's tile after this one.
  SPARK_DEVICE int next_of_warp(int position) const {
    return next_tile<Config::kBlockN>(keys_of_warp(), position);
  }
  /// Whether a tile is the warp's first, and the warp sees only its second half.
  SPARK_DEVICE bool begins_with_half(int position) const {
    return position < end_of_warp() && keys_of_warp().begin >= position + kHalfKeys;
  }
  /// The first tile that the warp's second group of rows sees, or the end of the warp's tiles.
  SPARK_DEVICE int first_of_later_rows() const {
    return least_of(first_tile<Config::kBlockN>(keys_of_group<1>()), end_of_warp());
  }

  /// Call begin() before the first tile is loaded, and keep_bounds() before the loop.
  SPARK_DEVICE void begin(int /*position*/) {}
  SPARK_DEVICE void keep_bounds() {
    if constexpr (Config::kLoop != KeyLoop::kPieces) all_seen_ = find_all_seen();
  }
  /// Looks for the next tile, and moves on to it.
  SPARK_DEVICE void find_next(int /*position*/) {}
  SPARK_DEVICE void move_on() {}
  /// The first key of this tile, and of the next one.
  SPARK_DEVICE int key_of(int position) const { return position; }
  SPARK_DEVICE int next_key_of(int position) const { return position; }

  /// The chunk of K or V from which a lane copies: chunk `column()` of key `first_key` + `row()` of
  /// the block's sequence.
  template <class Row, class Column>
  SPARK_DEVICE std::uint32_t key_address(const ChunkedView<const Bits16>& tensor, int first_key,
                                         Row row, Column column) const {
    const ForwardBlock block = locate_block<Config>(machine_, params_);
    return tensor.chunk(SPARK_PLANTED(kKeysOfFirstEntry, block.batch, 0), first_key + row(),
                        block.key_head(params_)) +
           static_cast<std::uint32_t>(column());
  }
  /// For a cursor that keeps an address from tile to tile (HeldCursor): the key that it keeps the
  /// address of, the tile's own, and how the kept one changes with a tile.
  SPARK_DEVICE static int held_key(int key) { return key; }
  SPARK_DEVICE static void find_from_held(std::uint32_t& /*chunk*/, int /*key*/,
                                          std::uint32_t /*row_chunks*/) {}
  SPARK_DEVICE static void move_held(std::uint32_t& held, std::uint32_t row_chunks) {
    held += static_cast<std::uint32_t>(Config::kBlockN) * row_chunks;
  }
  /// The end of the keys that are loaded.
  SPARK_DEVICE int end_of_keys() const { return keys_of_block().end; }

  /// S = -inf where the mask hides a key of a partial tile, or of its half.
  template <class Of>
  SPARK_DEVICE void hide(int position, int half, ScoreTile<Of>& tile) {
    const bool is_kept = Config::kLoop == KeyLoop::kHeldQueries;
    hide_by_bounds(is_kept ? all_seen_ : find_all_seen(), position + kHalfKeys * half, tile);
  }

  /// From the first row of this warp to its last; some may be past the last of all.
  SPARK_DEVICE Range rows_of_warp() const {
    const int first_row =
        locate_block<Config>(machine_, params_).first_row + first_row_of_warp<Config>(machine_);
    return {first_row, first_row + kGroupsApart<Config> + kGridRows};
  }
  /// Keys that every row of the warp sees.
  SPARK_DEVICE Range find_all_seen() const {
    return mask_of_block<Config>(machine_, params_).keys_of_all(rows_of_warp());
  }
  /// Which of the warps that share rows this is.
  SPARK_DEVICE int column_warp() const {
    return Config::kColumnWarps == 1 ? 0 : machine_.warp() % Config::kColumnWarps;
  }
  /// The first of a tile's keys of which the warp has scores.
  SPARK_DEVICE int first_score_key(int first_key) const {
    return first_key + Config::kScoreKeys * column_warp();
  }
  template <class Of>
  SPARK_DEVICE void hide_by_bounds(const Range& seen, int first_key, ScoreTile<Of>& tile) {
    constexpr int kKeys = Of::kScoreKeys * Config::kColumnWarps;
    if (seen.contains(
            Range{first_key, first_key + SPARK_PLANTED(kCutTileAsWhole, kKeys, kKeys - 1)}))
      return;
    machine_.recompute_indices();
    hide_cut_scores<Of>(machine_, mask_of_block<Config>(machine_, params_), seen,
                        rows_of_warp().begin, first_score_key(first_key), tile);
  }

 protected:
  Machine& machine_;
  const ForwardParams& params_;
  Range all_seen_;        // kHeldQueries and varlen only
  int end_of_warp_;       // varlen only
  int tile_, next_tile_;  // block-sparse only, as ListedKeys::load() returns them
};

/// Varlen sequences. What each tile needs is kept: it is loaded, not computed.
template <class Config, class Machine>
class VarlenKeys : public DenseKeys<Config, Machine> {
  using Base = DenseKeys<Config, Machine>;

 public:
  using Base::Base;

  SPARK_DEVICE int end_of_warp() const { return this->end_of_warp_; }
  SPARK_DEVICE int next_of_warp(int position) const {
    return next_tile<Config::kBlockN>(Range{position, this->end_of_warp_}, position);
  }
  SPARK_DEVICE void begin(int /*position*/) {
    const WorkWalk walk = load_work_walk(this->machine_, this->params_.items);
    first_k_ = walk.first;
    end_ = walk.end;
  }
  SPARK_DEVICE void keep_bounds() {
    this->end_of_warp_ = this->keys_of_warp().end;
    this->all_seen_ = this->find_all_seen();
  }
  template <class Row, class Column>
  SPARK_DEVICE std::uint32_t key_address(const ChunkedView<const Bits16>& tensor, int first_key,
                                         Row row, Column column) const {
    return tensor.chunk(0, first_k_ + first_key + row(),
                        this->params_.groups.key_head(this->machine_.block(0))) +
           static_cast<std::uint32_t>(column());
  }
  SPARK_DEVICE int end_of_keys() const { return end_; }
  template <class Of>
  SPARK_DEVICE void hide(int position, int /*half*/, ScoreTile<Of>& tile) {
    this->hide_by_bounds(this->all_seen_, position, tile);
  }

 private:
  int first_k_, end_;  // where the sequence begins among the keys, and of what the block sees
};

/// The tiles of a pattern's list, which also tells which halves of them the warp sees, and the mask
/// bits of a partial tile.
template <class Config, class Machine>
class ListedKeys : public DenseKeys<Config, Machine> {
  using Base = DenseKeys<Config, Machine>;

 public:
  using Base::Base;

  /// Whether this tile exists, or the block's list has ended: after its last tile the list has one
  /// that begins at the end of the keys.
  SPARK_DEVICE bool has_tile() const { return key_of(0) < end_of_keys(); }
  SPARK_DEVICE int halves_seen() const {
    return static_cast<int>(static_cast<std::uint32_t>(this->tile_) >> 30);
  }
  /// Whether the warp computes this tile whole; false after the list's end. Above 64 columns by a
  /// vote, which is faster there: it tells the compiler that lanes agree, which it cannot know of
  /// loaded data, and makes them converge in each iteration of a loop.
  SPARK_DEVICE bool computes_whole() const {
    const int halves = halves_seen();
    const bool is_whole = Config::kHasHalves ? halves == kBothHalves : halves != 0;
    return Config::kIsNarrow ? is_whole : this->machine_.ballot(is_whole) != 0;
  }

  SPARK_DEVICE void begin(int position) { this->tile_ = load(position); }
  SPARK_DEVICE void keep_bounds() {}
  SPARK_DEVICE void find_next(int position) { this->next_tile_ = load(position); }
  SPARK_DEVICE void move_on() { this->tile_ = this->next_tile_; }
  SPARK_DEVICE int key_of(int /*position*/) const { return first_of_tile(this->tile_); }
  SPARK_DEVICE int next_key_of(int /*position*/) const { return first_of_tile(this->next_tile_); }

  template <class Row, class Column>
  SPARK_DEVICE std::uint32_t key_address(const ChunkedView<const Bits16>& tensor, int first_key,
                                         Row row, Column column) const {
    return tensor.chunk(this->machine_.block(2), first_key + row(),
                        this->params_.groups.key_head(this->machine_.block(0))) +
           static_cast<std::uint32_t>(column());
  }
  /// The held address is that of the sequence's first key.
  SPARK_DEVICE static int held_key(int /*key*/) { return 0; }
  SPARK_DEVICE static void find_from_held(std::uint32_t& chunk, int key, std::uint32_t row_chunks) {
    chunk += static_cast<std::uint32_t>(key) * row_chunks;
  }
  SPARK_DEVICE static void move_held(std::uint32_t& /*held*/, std::uint32_t /*row_chunks*/) {}
  SPARK_DEVICE int end_of_keys() const { return this->params_.mask.seqlen_k; }

  template <class Of>
  SPARK_DEVICE void hide(int position, int half, ScoreTile<Of>& tile) {
    if (!is_cut_tile(this->tile_)) return;
    const SparseLists& lists = this->params_.sparse;
    const int words_of_tile =
        load_of_list(this->machine_, &tile_of_place<Config::kBlockN>(lists, position)->words);
    this->machine_.recompute_indices();
    constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
    const int warp = this->machine_.warp() / Config::kColumnWarps,
              word = half + this->machine_.warp() % Config::kColumnWarps;
    const std::uint32_t* const words =
        lists.words + (words_of_tile + word + kRowWords * kWarpRows * warp);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      hide_unseen<typename Config::Layout, Of::kKeySteps, kRowWords>(
          this->machine_, words + kRowWords * kGridRows * g,
          [&](int step, int i) { Config::Layout::hide(tile.score[g][step], i); });
    }
  }

 private:
  /// A tile in one number, because only one register is left: its first key, whether it is partial
  /// (kCutTile), and which halves of it the warp sees (the highest two bits).
  SPARK_DEVICE int load(int position) const {
    const auto tile = this->machine_.template load_global<Bits64>(
        tile_of_place<Config::kBlockN>(this->params_.sparse, position));
    const int warp = this->machine_.warp() / Config::kColumnWarps;
    return static_cast<int>(tile.word[0] | (tile.word[1] >> (2 * warp) & kBothHalves) << 30);
  }
};

template <class Config, class Machine>
using KeyWalk = std::conditional_t<
    kIsVarlen<Config>, VarlenKeys<Config, Machine>,
    std::conditional_t<kIsSparse<Config>, ListedKeys<Config, Machine>, DenseKeys<Config, Machine>>>;

}  // namespace sparkbench::volta
