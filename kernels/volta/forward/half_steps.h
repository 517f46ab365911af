// A warp's steps in the forward kernel with half of a tile, 32 keys, if it sees only that half;
// and for masks with bounds, which tiles these are. schedules.h puts the steps in order.
#pragma once

#include "kernels/volta/forward/piece_steps.h"
#include "kernels/volta/forward/steps.h"

namespace sparkbench::volta {

inline constexpr int kHalfKeys = 32;

/// A half of a tile, as a Config of ScoreTile.
template <class Config>
struct HalfOf : Config {
  static constexpr int kScoreKeys = kHalfKeys;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
};

/// The steps of Base for a half, for a warp that has all keys of its rows.
template <class Config, class Base>
class HalfWarp : public Base {
 public:
  using HalfTile = ScoreTile<HalfOf<Config>>;
  using typename Base::Softmax;

  using Base::Base;

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

/// For K and V in pieces.
template <class Config, class Machine>
class HalfPieceWarp : public HalfWarp<Config, PieceWarp<Config, Machine>> {
 public:
  using Base = HalfWarp<Config, PieceWarp<Config, Machine>>;
  using Base::Base;
  using typename Base::HalfTile;

  SPARK_DEVICE void add_scores(int part, int half, HalfTile& tile) {
    this->template multiply_keys<Config>(part, kHalfKeys * half, tile.score);
  }
  /// P of a half, stored while the block works on that half of V.
  SPARK_DEVICE void store_probabilities(int half, const HalfTile& tile) {
    this->store_packed(half, 0, tile);
  }
  using Base::add_scores;
  using Base::store_probabilities;
};

/// For whole tiles of K and V.
template <class Config, class Machine>
class HalfTileWarp : public HalfWarp<Config, ForwardWarp<Config, Machine>> {
 public:
  using Base = HalfWarp<Config, ForwardWarp<Config, Machine>>;
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

/// A warp that sees a range of keys: only its first and its last tile can be half.
template <class Config, class Machine>
class RangeHalfWarp : public HalfTileWarp<Config, Machine> {
 public:
  using Base = HalfTileWarp<Config, Machine>;
  using Base::Base;
  using typename Base::HalfTile;

  /// Whether `first_key` begins its first tile, of which it sees only the second half.
  SPARK_DEVICE bool begins_with_half(int first_key) const {
    return first_key < this->end_of_warp() && this->keys_of_warp().begin >= first_key + kHalfKeys;
  }
  SPARK_DEVICE void mask(int first_key, int half, HalfTile& tile) {
    Base::mask(first_key + kHalfKeys * half, tile);
  }
  using Base::mask;
};

}  // namespace sparkbench::volta
