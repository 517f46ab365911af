// What a warp of the forward kernel does besides where the mask is a pattern: its tiles come from a
// list, a cut tile is masked by words of bits, and of a tile of which it sees one half alone, 32
// keys, it computes no more. schedules.h puts them in order.
#pragma once

#include "kernels/volta/steps.h"

namespace sparkbench::volta {

inline constexpr int kHalfKeys = 32;

/// A half of a tile, as a Config of ScoreTile.
template <class Config>
struct HalfOf : Config {
  static constexpr int kScoreKeys = kHalfKeys;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
};

template <class Config, class Machine>
class PatternWarp : public ForwardWarp<Config, Machine> {
 public:
  using Base = ForwardWarp<Config, Machine>;
  using HalfTile = ScoreTile<HalfOf<Config>>;
  using typename Base::Softmax;
  using typename Base::Tile;
  /// FP16 products that are added to an O in FP32 have schedules for whole tiles alone.
  static constexpr bool kHasHalves = Config::kPv == Config::kOutput;

  using Base::Base;

  /// Whether there is this tile, and not the end of the block's list.
  SPARK_DEVICE bool has_tile() const { return this->key_of(0) < this->end_of_block(); }
  SPARK_DEVICE int halves_seen() const { return this->tile_ >> 1 & kBothHalves; }

  /// S = -inf where the words of a cut tile hide a key.
  SPARK_DEVICE void mask(int place, Tile& tile) { hide<Config::kKeySteps>(place, 0, tile.score); }

  /// The verbs of ForwardWarp for a half.
  SPARK_DEVICE void scores(int place, int half, HalfTile& tile) {
    this->at_.multiply_keys(this->machine_, this->tiles_, this->at_.buffer(place), tile.score,
                            kHalfKeys * half);
  }
  SPARK_DEVICE void mask(int place, int half, HalfTile& tile) {
    hide<HalfOf<Config>::kKeySteps>(place, half, tile.score);
  }
  SPARK_DEVICE void draw_dropout(int place, int half, HalfTile& tile) {
    if constexpr (Config::kHasDropout) {
      const ForwardBlock block = locate_block<Config>(this->machine_, this->params_);
      tile.dropout.draw(this->machine_, this->params_, block.batch_head(this->params_),
                        block.first_row + kWarpRows * this->machine_.warp(),
                        this->key_of(place) + kHalfKeys * half);
    }
  }
  SPARK_DEVICE Softmax row_maxima(const HalfTile& tile) {
    return Softmax(this->machine_, tile.score, this->params_.scale_log2, this->rows_);
  }
  SPARK_DEVICE void probabilities(Softmax& softmax, HalfTile& tile) {
    form_probabilities<HalfOf<Config>>(this->machine_, this->params_, 0, HalfOf<Config>::kKeySteps,
                                       softmax, tile);
  }
  SPARK_DEVICE void store_probabilities(int place, const HalfTile& tile) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      this->at_.store_probabilities(this->machine_, this->tiles_, this->at_.buffer(place), 0, g,
                                    tile.packed[g], 0);
    }
  }
  SPARK_DEVICE void multiply_probabilities(int place, int half) {
    this->at_.multiply_probabilities(this->machine_, this->tiles_, this->at_.buffer(place), 0, 0, 0,
                                     this->o_, kHalfKeys * half);
  }
  using Base::draw_dropout;
  using Base::probabilities;
  using Base::row_maxima;
  using Base::scores;

 private:
  template <int kSteps>
  SPARK_DEVICE void hide(int place, int first_word,
                         typename Config::Layout::Fragment (&score)[kRowGroups][kSteps]) {
    if (!is_cut_step(this->tile_)) return;
    const int words_of_tile = load_of_list(
        this->machine_, &tile_of_place<Config::kBlockN>(this->params_.sparse, place)->words);
    this->machine_.recompute_indices();
    constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
    const std::uint32_t* const words =
        this->params_.sparse.words +
        (words_of_tile + first_word + kRowWords * kWarpRows * this->machine_.warp());
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      hide_unseen<typename Config::Layout, kSteps, kRowWords>(
          this->machine_, words + kRowWords * kGridRows * g,
          [&](int step, int i) { Config::Layout::hide(score[g][step], i); });
    }
  }
};

}  // namespace sparkbench::volta
