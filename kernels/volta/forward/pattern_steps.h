// A warp's additional steps in the forward kernel for a block-sparse mask: its tiles come from a
// list, and a partial tile is masked by mask bits. schedules.h puts the steps in order.
#pragma once

#include "kernels/volta/forward/half_steps.h"

namespace sparkbench::volta {

/// S = -inf where the mask bits of `tile`, if it is partial, hide a key: for kSteps steps of the
/// warp's rows, whose mask bits begin at word `first_word`.
template <class Config, int kSteps, class Machine>
SPARK_DEVICE void hide_by_words(Machine& machine, const ForwardParams& params, int tile, int place,
                                int first_word,
                                typename Config::Layout::Fragment (&score)[kRowGroups][kSteps]) {
  if (!is_cut_tile(tile)) return;
  const int words_of_tile =
      load_of_list(machine, &tile_of_place<Config::kBlockN>(params.sparse, place)->words);
  machine.recompute_indices();
  constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
  const int warp = machine.warp() / Config::kColumnWarps,
            word = first_word + machine.warp() % Config::kColumnWarps;
  const std::uint32_t* const words =
      params.sparse.words + (words_of_tile + word + kRowWords * kWarpRows * warp);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    hide_unseen<typename Config::Layout, kSteps, kRowWords>(
        machine, words + kRowWords * kGridRows * g,
        [&](int step, int i) { Config::Layout::hide(score[g][step], i); });
  }
}

/// A warp whose tiles, and the halves of them that it sees, come from a list.
template <class Config, class Base>
class ListedWarp : public Base {
 public:
  using typename Base::HalfTile;
  using typename Base::Tile;

  using Base::Base;

  /// Whether this tile exists, or the block's list has ended.
  SPARK_DEVICE bool has_tile() const { return this->key_of(0) < this->end_of_block(); }
  SPARK_DEVICE int halves_seen() const { return halves_of_tile(this->tile_); }
  /// Whether the warp computes this tile whole; false after the list's end. Above 64 columns by a
  /// vote, which is faster there: it tells the compiler that lanes agree, which it cannot know of
  /// loaded data, and makes them converge in each iteration of a loop.
  SPARK_DEVICE bool computes_whole() const {
    const int halves = halves_seen();
    const bool is_whole = Config::kHasHalves ? halves == kBothHalves : halves != 0;
    if constexpr (Config::kIsNarrow) return is_whole;
    return this->machine_.ballot(is_whole) != 0;
  }

  /// S = -inf where the mask bits of a partial tile hide a key.
  SPARK_DEVICE void mask(int place, Tile& tile) {
    hide_by_words<Config, Config::kKeySteps>(this->machine_, this->params_, this->tile_, place, 0,
                                             tile.score);
  }
  SPARK_DEVICE void mask(int place, int half, HalfTile& tile) {
    hide_by_words<Config, HalfOf<Config>::kKeySteps>(this->machine_, this->params_, this->tile_,
                                                     place, half, tile.score);
  }
};

template <class Config, class Machine>
using PatternPieceWarp = ListedWarp<Config, HalfPieceWarp<Config, Machine>>;
template <class Config, class Machine>
using PatternWarp = ListedWarp<Config, HalfTileWarp<Config, Machine>>;

}  // namespace sparkbench::volta
