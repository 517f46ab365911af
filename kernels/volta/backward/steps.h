// The steps of the dK/dV kernel, each once. schedules.h puts them in order.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/softmax_gradient.h"
#include "kernels/volta/backward/dq_reducer.h"
#include "kernels/volta/backward/kept_chunks.h"
#include "kernels/volta/backward/pair_exchange.h"
#include "kernels/volta/backward/query_cursor.h"
#include "kernels/volta/tile/statistics_rows.h"

namespace sparkbench::volta {

/// Scores of a warp and a step, and what they become, for the 16-row groups that this warp
/// finishes: both, or one if it is half of a pair.
template <class Config>
struct StepScores {
  static constexpr int kGroups = kRowGroups / Config::kScoreWarps;

  RowStatistics row[kGroups][Config::Layout::kRowsPerLane];
  TileDropout<typename Config::Layout, Config::kScoreKeys, kGroups> dropout;
  float p[kGroups][Config::kScoreSteps][8];  // S, then P
  ScoreFragments<Config> dp[kGroups];
  std::uint32_t packed[kQuartets][2];  // P of a step as fp16
  ProbabilityPlaces places;
};

/// P^T dO or dS^T Q.
template <class Config, class Machine>
SPARK_DEVICE void add_transposed_product(Machine& machine, TeamTiles<Config>& tiles, int member,
                                         KeyGradient<Config>& gradient) {
  const KeyGradientShare<Config> share(member);
  auto& p = share.is_dk ? tiles.ds[share.key_tile] : tiles.p[share.key_tile];
  auto& rows = share.is_dk ? tiles.q : tiles.d_o;
  using Columns = typename Config::Columns;
  matmul_transposed_probabilities<Columns::kBlocks, Columns::kHasHalfBlocks, Config::kKeyHalf>(
      machine, p, rows, Columns::first_block(share.column_block), gradient,
      Columns::half_chunk(share.column_block), share.key_half);
}

/// A warp of the dK/dV kernel: what it can do with a step. Its 64 x 64 of dV or dK is not a member:
/// an array member makes the compiler keep the whole object in memory until loops are unrolled, too
/// late for many optimizations. Lane-dependent indices are recomputed in each step: no register is
/// left for them.
template <class Config, class Machine>
class BackwardWarp : public DqReducer<Config, Machine> {
  using Position = DqReducer<Config, Machine>;
  using Position::block;
  using Position::first_place_from;
  using Position::first_score_key;
  using Position::group;
  using Position::load_tiles;
  using Position::machine_;
  using Position::member;
  using Position::params_;
  using Position::query_of;
  using Position::share;
  using Position::team;
  using Position::tiles_;

 public:
  using Position::next;
  using Step = StepScores<Config>;
  using Staged = std::conditional_t<Config::kBorrowsValues, StagedStep<Config>,
                                    StagedTiles<typename Config::StagedQueries>>;
  /// Pieces of a group's exponentials: half of each quartet, for each key step.
  static constexpr int kPieces = 2 * Config::kScoreSteps;

  SPARK_DEVICE BackwardWarp(Machine& machine, const BackwardParams& params)
      : Position(machine, params) {}

  /// The team's first step of the first head (walk.h).
  SPARK_DEVICE int first_place() const { return first_place_from(params_.walk.first, block()); }

  /// K and V, and Q and dO of the team's first step.
  SPARK_DEVICE void stage_first_tiles(int place) {
    this->find(place);
    load_tiles(place, this->found_query(place));
    if constexpr (Config::kKeepsCursor) {
      begin_head(place);
      quartets_ = quartet_places();
    }
    keep_keys();
  }

  /// Log-sum-exp and D of the lane's rows.
  SPARK_DEVICE void load_statistics(int place, Step& step) {
    if constexpr (!Config::kEndsAnew) machine_.recompute_indices(place);
    this->find_next(next(place));
    const BackwardBlock here = block();
    const std::uint32_t head = here.workspace_head(params_, place);
#pragma unroll
    for (int g = 0; g < Step::kGroups; ++g) {
      sparkbench::load_statistics<Config::kAccumulator, Config::kRelaysDq>(
          machine_,
          params_.workspace.statistics_of(head, here.workspace_row + row_of_group(place, g)),
          step.row[g]);
    }
  }

  /// S = Q K^T, interleaved with other work (matmul_scores_beside).
  template <class Beside>
  SPARK_DEVICE void scores(Step& step, Beside beside) {
    ScoreFragments<Config> s[kRowGroups] = {};
    multiply(team().q, 0, tiles_.k, kept_[0], s, beside);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) widen(s[g], step.p[g]);
  }
  /// dP = dO V^T, interleaved with other work.
  template <class Beside>
  SPARK_DEVICE void gradients(Step& step, Beside beside) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) clear(step.dp[g]);
    multiply(team().d_o, 0, tiles_.values(), kept_[kProducts - 1], step.dp, beside);
  }
  /// Both, for a pair of warps: one has S of all queries and one dP. Then each gets the other's
  /// product for its own group.
  template <class Beside>
  SPARK_DEVICE void scores_and_gradients(Step& step, Beside beside) {
    const int part = share().part;
    const bool has_s = part == 0;
    ScoreFragments<Config> product[kRowGroups] = {};  // of this warp's group, of its partner's
    TeamTiles<Config>& tiles = team();
    multiply(has_s ? tiles.q : tiles.d_o, part, has_s ? tiles_.k : tiles_.values(), kept_[0],
             product, beside);
    if constexpr (Config::kBorrowsValues) team_barrier<Config>(machine_);
    exchange_with_partner<Config>(machine_, tiles, share(), product[1]);
    ScoreFragments<Config> s;
#pragma unroll
    for (int i = 0; i < Config::kScoreSteps; ++i) {
      s[i] = select(has_s, product[0][i], product[1][i]);
      step.dp[0][i] = select(has_s, product[1][i], product[0][i]);
    }
    widen(s, step.p[0]);
  }

  /// S = -inf where the mask hides a key of a partial tile.
  SPARK_DEVICE void mask(int place, Step& step) { this->hide(place, step); }

  /// Which elements are dropped: draws block b of as many as the warp has groups, in ascending
  /// order.
  SPARK_DEVICE void draw_dropout(int place, int b, Step& step) {
    if constexpr (Config::kHasDropout) {
      if constexpr (Config::kDrawsAnew) place = machine_.opaque(place);
      step.dropout.draw_block(
          machine_, params_,
          SPARK_PLANTED(kBackwardDropoutOfKeyHead, block().batch_head(params_, place),
                        static_cast<std::uint32_t>(block().key_head)),
          row_of_group(place, 0), first_score_key(), b);
      if (b == Step::kGroups - 1) step.dropout.share(machine_, first_score_key());
    }
  }

  /// P = exp(scale S - lse), and 0 where dropped as fp16 to shared memory, a piece of a group. The
  /// second piece of a step stores both.
  SPARK_DEVICE void store_probabilities(int g, int piece, Step& step) {
    using Scale = ProbabilityScale<Config::kAccumulator>;
    if (g == 0 && piece == 0) {
      if constexpr (Config::kKeepsCursor) {
        step.places = quartets_;
      } else {
        step.places = quartet_places();
      }
    }
    const int at = piece / 2, h = piece % 2;
#pragma unroll
    for (int q = 0; q < kQuartets; ++q) {
      float packable[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& p = step.p[g][at][quartet_element(q, h, e)];
        p = recompute_probability(machine_, params_.scale_log2, step.row[g][Layout::slot(q)], p);
        packable[e] = Scale::packable(p);
      }
      if constexpr (Config::kHasDropout) {
        step.packed[q][h] = pack_scaled_halves(
            machine_, packable[0], packable[1],
            SPARK_PLANTED(kDvOfUndroppedP, step.dropout.selector(g, piece, q), kUpperHalves));
      } else {
        step.packed[q][h] = pack_scaled_halves(machine_, packable[0], packable[1]);
      }
    }
    if (h == 0) return;
    step.places.store_bytes = machine_.opaque(step.places.store_bytes);
    store_quartets<Config::kAccumulator>(machine_, tiles_.team[0].p[0][group(g)], step.places, at,
                                         step.packed);
  }

  /// dS = P (dP - D), dP 0 where dropped, as fp16 to shared memory.
  SPARK_DEVICE void store_score_gradients(int g, Step& step) {
    float ds[Config::kScoreSteps][8];
    widen(step.dp[g], ds);
    if constexpr (Config::kHasDropout)
      SPARK_UNLESS_PLANTED(kDpNotDropped, step.dropout.drop(g, ds));
    score_gradients<Layout, ProbabilityScale<Config::kAccumulator>>(machine_, step.row[g],
                                                                    step.p[g], ds);
    step.places.store_bytes = machine_.opaque(step.places.store_bytes);
    store_gradients<Config::kAccumulator>(
        machine_, ds, tiles_.team[0].ds[0][SPARK_PLANTED(kDsOfOtherRows, group(g), group(g) ^ 1)],
        step.places);
  }

  /// Q and dO of the team's next step, to registers and to shared memory.
  SPARK_DEVICE void load_next(int place, Staged& staged) {
    const int next_place = next(place);
    machine_.recompute_indices(Config::kEndsAnew ? next_place : place);
    if constexpr (Config::kKeepsCursor) {
      cursor_.load_next(machine_, params_, staged.first, staged.second);
      return;
    }
    const int query = this->next_query(next_place);
    load_queries<Config>(machine_, params_, block(), params_.q, next_place, query, staged.first);
    load_queries<Config>(machine_, params_, block(), params_.d_o, next_place, query, staged.second);
    if constexpr (Config::kBorrowsValues) {
      load_borrowed<Config>(machine_, params_, block(), staged.borrowed);
    }
  }
  SPARK_DEVICE void store_next(const Staged& staged) {
    store_queries(staged);
    if constexpr (Config::kBorrowsValues) staged.borrowed.store(machine_, tiles_.borrowed());
  }

  SPARK_DEVICE Machine& machine() { return machine_; }

  /// Barriers of the team's warps, within a step and at its end.
  SPARK_DEVICE void meet(int place) {
    team_barrier<Config>(machine_);
    if constexpr (Config::kMeetsAnew) machine_.recompute_indices(place);
  }
  SPARK_DEVICE void end_step(int place) {
    team_barrier<Config>(machine_);
    this->move_on();
    if constexpr (Config::kEndsAnew) machine_.recompute_indices(next(place));
  }

  /// dV += P^T dO or dK += dS^T Q, in FP32 whatever Config::kAccumulator is: FP16 sums would need
  /// registers of their own, and widening them the tensor cores' time.
  SPARK_DEVICE void add_key_gradient(KeyGradient<Config>& gradient) {
    add_transposed_product<Config>(machine_, team(), member().member, gradient);
  }

  /// Adds up the teams' sums, and writes them to global memory.
  SPARK_DEVICE void write(int end_place, const KeyGradient<Config>& gradient) {
    if constexpr (!Config::kEndsAnew) machine_.recompute_indices(end_place);
    write_key_gradient(machine_, params_, tiles_, gradient);
  }

  /// Moves on to the next head: loads Q and dO of the team's first step there.
  SPARK_DEVICE int begin_next_head(int place) {
    machine_.recompute_indices(place);
    const BackwardBlock here = restore_place(machine_, params_, tiles_);
    const int first = first_place_from(params_.walk.first_of_next(place), here);
    StagedTiles<typename Config::StagedQueries> staged;
    this->find(first);
    const int query = this->found_query(first);
    load_queries<Config>(machine_, params_, here, params_.q, first, query, staged.first);
    load_queries<Config>(machine_, params_, here, params_.d_o, first, query, staged.second);
    store_queries(staged);
    if constexpr (Config::kKeepsCursor) begin_head(first);
    team_barrier<Config>(machine_);
    return first;
  }

 private:
  using Layout = typename Config::Layout;
  using KeptKeys = KeptChunks<Config::kKeptChunks, Config::kScoreSteps>;

  SPARK_DEVICE int row_of_group(int place, int g) const {
    return query_of(place) + kGridRows * group(g);
  }
  SPARK_DEVICE void begin_head(int place) {
    cursor_.begin(machine_, params_, block(), place, query_of(place));
  }
  SPARK_DEVICE void store_queries(const StagedTiles<typename Config::StagedQueries>& queries) {
    if constexpr (Config::kKeepsCursor) {
      cursor_.store(machine_, queries.first, team().q);
      cursor_.store(machine_, queries.second, team().d_o);
      return;
    }
    queries.first.store(machine_, team().q);
    queries.second.store(machine_, team().d_o);
  }

  SPARK_DEVICE static void clear(ScoreFragments<Config>& fragments) {
#pragma unroll
    for (auto& fragment : fragments) fragment = {};
  }
  SPARK_DEVICE void widen(const ScoreFragments<Config>& fragments,
                          float (&value)[Config::kScoreSteps][8]) {
#pragma unroll
    for (int i = 0; i < Config::kScoreSteps; ++i) {
      sparkbench::widen(machine_, fragments[i], value[i]);
    }
  }

  /// Loads this warp's chunks of K, V or both into registers, by which products it has.
  SPARK_DEVICE void keep_keys() {
    const auto place = Config::KeyTile::lane_place(
        Config::kScoreKeys * share().key_quarter + grid_operand_key(machine_.lane()), 0);
    const bool has_s = kProducts == 2 || share().part == 0;
    kept_[0].load(machine_, has_s ? tiles_.k : tiles_.values(), place);
    if constexpr (kProducts == 2) kept_[1].load(machine_, tiles_.values(), place);
  }

  /// C = A B^T for all of A's rows, `first_group` of them in c[0], and for the warp's keys.
  template <class Beside>
  SPARK_DEVICE void multiply(typename Config::QueryTile& a, int first_group,
                             typename Config::KeyTile& b, const KeptKeys& kept,
                             ScoreFragments<Config> (&c)[kRowGroups], Beside beside) {
    using ATile = typename Config::QueryTile;
    using BTile = typename Config::KeyTile;
    constexpr int kGroupBytes = 16 * kGridRows * ATile::kChunksPerRow;
    static_assert(sizeof(ATile) == 2 * kGroupBytes, "there are two groups");
    constexpr bool kBitTellsGroup = (kGroupBytes & (kGroupBytes - 1)) == 0;
    const int first_key = Config::kScoreKeys * share().key_quarter;
    const int lane = machine_.lane();
    auto a_place = ATile::lane_place(kGridRows * first_group + grid_operand_row(lane), 0);
    auto a_next = ATile::lane_place(kGridRows * (first_group ^ 1) + grid_operand_row(lane), 0);
    auto b_place = BTile::lane_place(first_key + grid_operand_key(lane), 0);
    a_place.offset_bytes = machine_.opaque(a_place.offset_bytes);
    b_place.offset_bytes = machine_.opaque(b_place.offset_bytes);
    if constexpr (!kBitTellsGroup) a_next.offset_bytes = machine_.opaque(a_next.offset_bytes);
    matmul_chunks_beside<Config::kAccumulator, BTile::kChunks>(
        machine_,
        [&](int g, int chunk) {
          return machine_.template load_shared<Bits128>(
              Config::kScoreWarps == 1 ? a.at(a_place, kGridRows * g, chunk)
              : kBitTellsGroup         ? a.at({a_place.offset_bytes ^ (kGroupBytes * g)}, 0, chunk)
                                       : a.at(g == 0 ? a_place : a_next, 0, chunk));
        },
        [&](int step, int chunk) {
          if (kept.has(chunk)) return kept.at(step, chunk);
          return machine_.template load_shared<Bits128>(b.at(b_place, kGridColumns * step, chunk));
        },
        c, beside);
  }

  /// Where a lane stores its quartets, in bytes from the first step, key tile and team on.
  SPARK_DEVICE ProbabilityPlaces quartet_places() const {
    using Tiles = TeamTiles<Config>;
    ProbabilityPlaces places =
        probability_places<Config::kAccumulator, kTransposedKeys>(machine_.lane());
    places.store_bytes = (places.store_bytes ^ (32 * share().first_step())) +
                         static_cast<int>(sizeof(Tiles)) * member().team +
                         static_cast<int>(sizeof(Tiles::p[0])) * share().key_tile();
    return places;
  }

  /// How many products a warp computes: S and dP, or one of them.
  static constexpr int kProducts = 2 / Config::kScoreWarps;
  KeptKeys kept_[kProducts];
  QueryCursor<Config> cursor_;  // kKeepsCursor
  ProbabilityPlaces quartets_;
};

}  // namespace sparkbench::volta
