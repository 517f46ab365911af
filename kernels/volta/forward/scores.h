// A warp's tile of scores in the forward kernel, from S to P.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/volta/forward/block.h"
#include "kernels/volta/tile/output_accumulator.h"

namespace sparkbench::volta {

inline constexpr int kHalfKeys = 32;  // of a tile of 64

/// The Config for a half of a tile's keys.
template <class Config>
struct HalfOf : Config {
  static constexpr int kScoreKeys = kHalfKeys;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
};

/// The Config for a tile that only one of a warp's groups of rows sees. By the cycle model it is
/// fastest with as few early exponentials as a piece of V needs, and with a mask by ends.
template <class Config, int kGroup>
struct GroupOf : Config {
  static constexpr int kScoreGroups = 1, kFirstGroup = kGroup;
  static constexpr int kEarlySteps = Config::kKeySteps / 2;
  static constexpr CutMask kCutMask = cut_masks::kEndsFirst;
};

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

}  // namespace sparkbench::volta
