// What a warp of the forward kernel does besides where the mask is a pattern: its tiles come from a
// list, a cut tile is masked by words of bits, and of a tile of which it sees one half alone, 32
// keys, it computes no more. schedules.h puts them in order.
#pragma once

#include "kernels/volta/piece_steps.h"
#include "kernels/volta/steps.h"

namespace sparkbench::volta {

inline constexpr int kHalfKeys = 32;

/// A half of a tile, as a Config of ScoreTile.
template <class Config>
struct HalfOf : Config {
  static constexpr int kScoreKeys = kHalfKeys;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
};

/// S = -inf where the words of `tile`, if it is cut, hide a key: of kSteps steps of the warp's
/// rows, whose keys are those of its words from `first_word` on.
template <class Config, int kSteps, class Machine>
SPARK_DEVICE void hide_by_words(Machine& machine, const ForwardParams& params, int tile, int place,
                                int first_word,
                                typename Config::Layout::Fragment (&score)[kRowGroups][kSteps]) {
  if ((tile & kCutTile) == 0) return;
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

/// A warp whose tiles a list tells, and the verbs of Base for a half of a tile, of a warp that has
/// all keys of its rows.
template <class Config, class Base>
class ListedWarp : public Base {
 public:
  using HalfTile = ScoreTile<HalfOf<Config>>;
  using typename Base::Softmax;
  using typename Base::Tile;

  using Base::Base;

  /// Whether there is this tile, and not the end of the block's list.
  SPARK_DEVICE bool has_tile() const { return this->key_of(0) < this->end_of_block(); }
  SPARK_DEVICE int halves_seen() const { return halves_of_tile(this->tile_); }

  /// S = -inf where the words of a cut tile hide a key.
  SPARK_DEVICE void mask(int place, Tile& tile) {
    hide_by_words<Config, Config::kKeySteps>(this->machine_, this->params_, this->tile_, place, 0,
                                             tile.score);
  }
  SPARK_DEVICE void mask(int place, int half, HalfTile& tile) {
    hide_by_words<Config, HalfOf<Config>::kKeySteps>(this->machine_, this->params_, this->tile_,
                                                     place, half, tile.score);
  }
  SPARK_DEVICE void draw_dropout(int place, int half, HalfTile& tile) {
    this->draw(place, kHalfKeys * half, tile.dropout);
  }
  SPARK_DEVICE Softmax row_maxima(const HalfTile& tile) {
    return Softmax(this->machine_, tile.score, this->params_.scale_log2, this->rows_);
  }
  SPARK_DEVICE void probabilities(Softmax& softmax, HalfTile& tile) {
    form_probabilities<HalfOf<Config>>(this->machine_, this->params_, 0, HalfOf<Config>::kKeySteps,
                                       softmax, tile);
  }
  using Base::draw_dropout;
  using Base::probabilities;
  using Base::row_maxima;
};

/// Where K and V come in pieces.
template <class Config, class Machine>
class PatternPieceWarp : public ListedWarp<Config, PieceWarp<Config, Machine>> {
 public:
  using Base = ListedWarp<Config, PieceWarp<Config, Machine>>;
  using Base::Base;
  using typename Base::HalfTile;

  SPARK_DEVICE void add_scores(int part, int half, HalfTile& tile) {
    this->multiply_keys(part, kHalfKeys * half, tile.score);
  }
  /// P of a half to where the warp finds it, while the block works on that half of V.
  SPARK_DEVICE void store_probabilities(int half, const HalfTile& tile) {
    this->store_packed(half, 0, tile);
  }
  using Base::add_scores;
  using Base::store_probabilities;
};

template <class Config, class Machine>
class PatternWarp : public ListedWarp<Config, ForwardWarp<Config, Machine>> {
 public:
  using Base = ListedWarp<Config, ForwardWarp<Config, Machine>>;
  using Base::Base;
  using typename Base::HalfTile;

  SPARK_DEVICE void scores(int place, int half, HalfTile& tile) {
    this->at_.multiply_keys(this->machine_, this->tiles_, this->at_.buffer(place), tile.score,
                            kHalfKeys * half);
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
  using Base::scores;
};

}  // namespace sparkbench::volta
