// A block's walk over the tiles of keys in the dQ kernel, by the policies of tile/walk.h: which
// tiles there are, where their keys lie in memory, and which scores the mask hides.
#pragma once

#include "kernels/tile/mask.h"
#include "kernels/volta/backward/config.h"
#include "kernels/volta/backward/dq_config.h"
#include "kernels/volta/backward/queries.h"
#include "kernels/volta/padding.h"

namespace sparkbench::volta {

/// Equally long sequences, or varlen ones.
template <class Config, class Machine>
class RangeDqWalk {
 public:
  /// Keys that some row of the block sees.
  SPARK_DEVICE const Range& keys() const { return keys_; }
  /// A tile exists if its `progress` is below the end of progress for keys(). Where registers are
  /// full, a pattern's tile list tells both.
  SPARK_DEVICE int progress(int first_key) const { return first_key; }
  SPARK_DEVICE int end_of_progress(const Range& keys) const {
    return SPARK_PLANTED(kDqOfLastTileLost, keys.end, keys.end - 1);
  }
  /// Whether every row of the block sees every key of a tile.
  SPARK_DEVICE bool sees_all(int first_key) const {
    return all_seen_.contains(Range{first_key, first_key + Config::kBlockN});
  }
  SPARK_DEVICE Machine& machine() { return machine_; }

 protected:
  using Layout = typename Config::Layout;
  using Keys = typename Config::StagedKeys;

  SPARK_DEVICE RangeDqWalk(Machine& machine, const BackwardParams& params)
      : machine_(machine), params_(params), block_(locate_queries<Config>(machine, params)) {}

  SPARK_DEVICE void find_tiles(int /*head*/) {
    const KeyMask& mask = mask_of_queries<Config>(machine_, params_);
    const Range rows{block_.first_row, block_.first_row + Config::kBlockM};
    keys_ = mask.keys_of_any(rows);
    all_seen_ = mask.keys_of_all(rows);
  }
  SPARK_DEVICE int head_of_block() const {
    return kIsVarlen<Config> ? machine_.block(0) / kBlocksOfItem<Config> : machine_.block(1);
  }
  /// Recomputes the block's coordinates after the loop, where they are not kept through it.
  SPARK_DEVICE void restore_block() {}

  /// A tile's first key.
  SPARK_DEVICE int key_of(int first_key) const { return first_key; }
  /// Its keys that the block sees.
  SPARK_DEVICE void load_keys(int first_key, StagedTiles<Keys>& staged) {
    const auto rows = [&](const ChunkedView<const Bits16>& tensor) {
      return TensorRows{tensor.at(block_.batch, block_.first_k + first_key, key_head()),
                        tensor.row_stride(),
                        copied_rows<Config, Keys>(machine_, params_, keys_.end - first_key)};
    };
    const bool has_last = copies_last<Config, Keys>(machine_, params_);
    staged.first.load(machine_, rows(params_.k), has_last);
    staged.second.load(machine_, rows(params_.v), has_last);
  }
  template <class Group>
  SPARK_DEVICE void hide(int first_key, int g, Group& group) {
    mask_scores<Layout>(group.p, mask_of_queries<Config>(machine_, params_), machine_.lane(),
                        row_of_group(g), first_score_key(first_key));
  }

  /// The head whose keys it reads.
  SPARK_DEVICE int key_head() const {
    return Config::kKeepsKeyHead ? block_.head : params_.groups.key_head(block_.head);
  }
  /// The 16-row groups whose dS the warp forms, and their keys.
  SPARK_DEVICE int first_group() const {
    return Config::kScoreGroups * (machine_.warp() / Config::kScoreWarps);
  }
  SPARK_DEVICE int score_part() const { return machine_.warp() % Config::kScoreWarps; }
  SPARK_DEVICE int first_score_key(int first_key) const {
    return first_key + Config::kScoreKeys * score_part();
  }
  SPARK_DEVICE int row_of_group(int g) const {
    return block_.first_row + kGridRows * (first_group() + g);
  }

  Machine& machine_;
  const BackwardParams& params_;
  QueryBlock block_;       // with the key head where that is kept
  Range keys_, all_seen_;  // that some row of the block sees, that every row sees; for patterns
                           // positions of tiles, and nothing
};

/// The tiles of a pattern's list. What the list tells of a tile is loaded wherever it is used.
template <class Config, class Machine>
class ListedDqWalk : public RangeDqWalk<Config, Machine> {
  using Base = RangeDqWalk<Config, Machine>;
  using typename Base::Keys;
  static constexpr bool kAsksList = Config::kBuffers == 1;

 protected:
  using Base::block_;
  using Base::machine_;
  using Base::params_;

 public:
  SPARK_DEVICE int progress(int first_key) const {
    return kAsksList ? key_of(first_key) : first_key;
  }
  SPARK_DEVICE int end_of_progress(const Range& keys) const {
    return kAsksList ? params_.mask.seqlen_k : Base::end_of_progress(keys);
  }
  SPARK_DEVICE bool sees_all(int first_key) const {
    // One comparison: a partial tile's `first`, and that after the last tile, are larger.
    return load_of_list(machine_, &tile_at(first_key)->first) < params_.mask.seqlen_k;
  }

 protected:
  using Base::Base;

  SPARK_DEVICE void find_tiles(int head) {
    this->keys_ = places_of_block<Config::kBlockN>(machine_, params_.sparse_queries, head);
  }
  SPARK_DEVICE int head_of_block() const { return machine_.block(0); }
  SPARK_DEVICE void restore_block() {
    if constexpr (kAsksList) block_ = locate_queries<Config>(machine_, params_);
  }
  SPARK_DEVICE int key_of(int first_key) const {
    return first_of_tile(load_of_list(machine_, &tile_at(first_key)->first));
  }
  SPARK_DEVICE void load_keys(int first_key, StagedTiles<Keys>& staged) {
    load(params_.k, first_key, staged.first);
    load(params_.v, first_key, staged.second);
  }
  template <class Group>
  SPARK_DEVICE void hide(int first_key, int g, Group& group) {
    constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
    const int words = load_of_list(machine_, &tile_at(first_key)->words);
    hide_unseen<typename Base::Layout, Config::kKeySteps, kRowWords>(
        machine_,
        params_.sparse_queries.words + words + kRowWords * kGridRows * (this->first_group() + g),
        [&](int step, int i) { group.p[step][i] = -INFINITY; },
        Config::kScoreKeys * this->score_part());
  }

 private:
  SPARK_DEVICE const SparseTile* tile_at(int place) const {
    return tile_of_place<Config::kBlockN>(params_.sparse_queries, place);
  }
  SPARK_DEVICE void load(const ChunkedView<const Bits16>& tensor, int first_key, Keys& staged) {
    const int row = first_key + Keys::first_row(machine_);
    const std::uint32_t chunk = tensor.chunk(block_.batch, row, this->key_head()) +
                                static_cast<std::uint32_t>(Keys::column_chunk(machine_));
    staged.load_from_chunk(machine_, tensor.at_chunk(chunk), tensor.row_stride(), row,
                           copied_rows<Config, Keys>(machine_, params_, params_.mask.seqlen_k));
  }
};

template <class Config, class Machine>
using DqWalk = std::conditional_t<kIsSparse<Config>, ListedDqWalk<Config, Machine>,
                                  RangeDqWalk<Config, Machine>>;

}  // namespace sparkbench::volta
