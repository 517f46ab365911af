// P and dS of the backward kernel (backward.h, lines 3 to 8): what its two ways have in common,
// a warp that computes S and dP of its keys (backward_scores_of_warp.h) and a pair of warps, one
// with S, one with dP (backward_scores_of_pair.h).
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/softmax_gradient.h"
#include "kernels/volta/backward_block.h"
#include "kernels/volta/tile/statistics_rows.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// A team member's 32 keys, and which of the kScoreWarps warps that have them it is.
template <class Config>
struct ScoreShare {
  int key_quarter, part;

  SPARK_DEVICE explicit ScoreShare(int member)
      : key_quarter(member / Config::kScoreWarps), part(member % Config::kScoreWarps) {}
  SPARK_DEVICE int key_tile() const { return key_quarter >> 1; }
  SPARK_DEVICE int first_step() const { return Config::kScoreSteps * (key_quarter & 1); }
};

template <class Config>
using ScoreFragments = AccumulatorFragment<Config::kAccumulator>[kRowGroups][Config::kScoreSteps];

/// Line 4: C = A B^T for all of A's rows, `first_group` of them in c[0], and for the warp's keys,
/// beside other work (matmul_scores_beside).
template <class Config, class Machine, class Beside>
SPARK_DEVICE void matmul_step(Machine& machine, typename Config::QueryTile& a, int first_group,
                              typename Config::KeyTile& b, int first_key, ScoreFragments<Config>& c,
                              Beside beside) {
  using ATile = typename Config::QueryTile;
  using BTile = typename Config::KeyTile;
  constexpr int kGroupBytes = 16 * kGridRows * ATile::kChunksPerRow;
  static_assert(sizeof(ATile) == 2 * kGroupBytes, "one bit tells a tile's groups");
  const int lane = machine.lane();
  auto a_place = ATile::lane_place(kGridRows * first_group + grid_operand_row(lane), 0);
  auto b_place = BTile::lane_place(first_key + grid_operand_key(lane), 0);
  a_place.offset_bytes = machine.opaque(a_place.offset_bytes);
  b_place.offset_bytes = machine.opaque(b_place.offset_bytes);
  matmul_scores_beside<Config::kAccumulator>(
      machine,
      [&](int g, int chunk) {
        return machine.template load_shared<Bits128>(
            Config::kScoreWarps == 1 ? a.at(a_place, kGridRows * g, chunk)
                                     : a.at({a_place.offset_bytes ^ (kGroupBytes * g)}, 0, chunk));
      },
      b, b_place, c, beside);
}

/// 16 rows of scores, then P; of dP, then dS.
template <class Config>
using ScoreGroup = float[Config::kScoreSteps][8];

template <class Config, class Machine>
SPARK_DEVICE void widen_group(
    Machine& machine,
    const AccumulatorFragment<Config::kAccumulator> (&fragments)[Config::kScoreSteps],
    ScoreGroup<Config>& value) {
#pragma unroll
  for (int step = 0; step < Config::kScoreSteps; ++step) {
    widen(machine, fragments[step], value[step]);
  }
}

/// Where a group of a warp is among all scores.
struct ScorePlace {
  std::uint32_t batch_head;
  int first_row, first_key;
};

template <class Config, class Machine>
SPARK_DEVICE ScorePlace score_place(Machine& machine, const BackwardParams& params, int first_query,
                                    int group) {
  const ScoreShare<Config> share(TeamMember<Config>(machine.warp()).member);
  const BackwardBlock block = locate_backward<Config>(machine);
  return {block.batch_head(params), first_query + kGridRows * group,
          block.first_key + Config::kScoreKeys * share.key_quarter};
}

/// Line 3: the statistics of this lane's rows of a group.
template <class Config, class Machine>
SPARK_DEVICE void load_step_statistics(Machine& machine, const BackwardParams& params,
                                       int first_query, int group,
                                       RowStatistics (&row)[Config::Layout::kRowsPerLane]) {
  const std::uint32_t batch_head = locate_backward<Config>(machine).batch_head(params);
  load_statistics<Config::kAccumulator>(
      machine, params.workspace.statistics_of(batch_head, first_query + kGridRows * group), row);
}

/// Line 5.
template <class Config, class Machine>
SPARK_DEVICE bool is_masked(const Machine& machine, const BackwardParams& params, int first_query) {
  return !queries_of_all<Config>(params, locate_backward<Config>(machine))
              .contains(Range{first_query, first_query + Config::kStep});
}
template <class Config, class Machine>
SPARK_DEVICE void mask_group(Machine& machine, const BackwardParams& params, int first_query,
                             int group, ScoreGroup<Config>& score) {
  const ScorePlace place = score_place<Config>(machine, params, first_query, group);
  mask_scores<typename Config::Layout>(score, params.mask, machine.lane(), place.first_row,
                                       place.first_key);
}

/// Where a lane stores its quartets, in bytes from those of the first step, keys and team.
template <class Config, class Machine>
SPARK_DEVICE ProbabilityPlaces quartet_places(Machine& machine) {
  using Tiles = TeamTiles<Config>;
  const TeamMember<Config> of(machine.warp());
  const ScoreShare<Config> share(of.member);
  ProbabilityPlaces places =
      probability_places<Config::kAccumulator, kTransposedKeys>(machine.lane());
  places.store_bytes = (places.store_bytes ^ (32 * share.first_step())) +
                       static_cast<int>(sizeof(Tiles)) * of.team +
                       static_cast<int>(sizeof(Tiles::p[0])) * share.key_tile();
  return places;
}

/// The random bytes of a group.
using GroupDropout = StrandDropout<32>[kQuartets];

template <class Config, class Machine>
SPARK_DEVICE void draw_quartet(Machine& machine, const BackwardParams& params, int first_query,
                               int group, int quartet, GroupDropout& dropout) {
  using Layout = typename Config::Layout;
  const ScorePlace place = score_place<Config>(machine, params, first_query, group);
  const int lane = machine.lane();
  dropout[quartet] = StrandDropout<32>::draw<Layout>(
      params.dropout, lane, place.batch_head,
      place.first_row + Layout::row(lane, Layout::slot(quartet)), place.first_key, quartet);
}

/// Lines 6 and 7 for one of the four pieces of a group: half of each quartet of a step. `p` comes
/// as scores, and leaves with its sign turned where it is dropped. The second half stores both.
template <class Config, class Machine>
SPARK_DEVICE void store_probability_piece(Machine& machine, const BackwardParams& params,
                                          const RowStatistics (&row)[Config::Layout::kRowsPerLane],
                                          const GroupDropout& dropout, int piece,
                                          ScoreGroup<Config>& p,
                                          std::uint32_t (&pair)[kQuartets][2],
                                          ProbabilityPlaces& places,
                                          ProbabilityTile<kTransposedKeys>& tile) {
  using Scale = ProbabilityScale<Config::kAccumulator>;
  const int step = piece / 2, h = piece % 2;
#pragma unroll
  for (int q = 0; q < kQuartets; ++q) {
    float kept[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& value = p[step][quartet_element(q, h, e)];
      value =
          recompute_probability(machine, params.scale_log2, row[Config::Layout::slot(q)], value);
      kept[e] = value;
      if constexpr (Config::kHasDropout) {
        value = drop_and_mark<typename Config::Layout>(kept[e], params.dropout, dropout[q], step,
                                                       2 * h + e);
      }
    }
    pair[q][h] = pack_scaled_halves(machine, Scale::packable(kept[0]), Scale::packable(kept[1]));
  }
  if (h == 0) return;
  places.store_bytes = machine.opaque(places.store_bytes);
  store_quartets<Config::kAccumulator>(machine, tile, places, step, pair);
}

/// Line 8 for a group: `ds` comes as dP.
template <class Config, class Machine>
SPARK_DEVICE void store_group_gradients(Machine& machine,
                                        const RowStatistics (&row)[Config::Layout::kRowsPerLane],
                                        ScoreGroup<Config>& p, ScoreGroup<Config>& ds,
                                        ProbabilityPlaces& places,
                                        ProbabilityTile<kTransposedKeys>& tile) {
  if constexpr (Config::kHasDropout) drop_marked(p, ds);
  score_gradients<typename Config::Layout, ProbabilityScale<Config::kAccumulator>>(machine, row, p,
                                                                                   ds);
  places.store_bytes = machine.opaque(places.store_bytes);
  store_gradients<Config::kAccumulator>(machine, ds, tile, places);
}

}  // namespace sparkbench::volta
