// A warp's coordinates in the dK/dV kernel: in its block, in its team, and in the walk over
// queries.
#pragma once

#include "kernels/tile/mask.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/backward/block.h"

namespace sparkbench::volta {

/// The block is located again wherever it is used: no register is left to keep it in, unless its
/// place comes from a list. The caller keeps a step's `place` (walk.h).
template <class Config, class Machine>
class BackwardPosition {
 public:
  /// The place of the team's step (walk.h) after `place`, over the queries that see a key of the
  /// block.
  SPARK_DEVICE static int next(int place) { return place + Config::kTeams * Config::kStep; }
  /// Whether this step exists, or the head has ended.
  SPARK_DEVICE bool has_step(int place) const {
    return params_.walk.query(place) < query_end_of_block<Config>(machine_, params_, block());
  }
  /// The same for steps that skip a half of the block's keys, or are full. The rows of a walk see
  /// ever later keys: first come steps that see none of the last half, and at the end steps that
  /// see none of the first half.
  SPARK_DEVICE bool has_step_of_first_half(int place) const {
    return has_step(place) &&
           params_.mask.end(params_.walk.query(place) + Config::kStep - 1) <= middle_key();
  }
  SPARK_DEVICE bool has_step_before_last_half(int place) const {
    return params_.walk.query(place) <
           least_of(middle_key() - params_.mask.begin_offset, params_.query_end);
  }
  SPARK_DEVICE bool has_full_step(int place) const {
    const int query = params_.walk.query(place), key = block().first_key;
    return query < params_.query_end &&
           params_.mask.all_see({query, query + Config::kStep}, {key, key + Config::kBlockKeys});
  }
  SPARK_DEVICE bool is_last_head(int place) const { return place >= params_.walk.last; }

 protected:
  /// The first key of the last half of the block's.
  SPARK_DEVICE int middle_key() const { return block().first_key + Config::kBlockKeys / 2; }

  SPARK_DEVICE BackwardPosition(Machine& machine, const BackwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<BackwardTiles<Config>>()) {
    keep_item<Config>(machine, params);
    if constexpr (kHoldsBlock) block_ = locate_backward<Config>(machine, params);
  }

  /// Teams take turns in having the first step of a head.
  SPARK_DEVICE int first_place_from(int first_of_member, const BackwardBlock& block) const {
    const int turn = first_turn(first_of_member);
    return first_of_member +
           first_tile<Config::kStep>(queries_of_block<Config>(machine_, params_, block)) +
           Config::kStep * turn;
  }
  SPARK_DEVICE int first_turn(int first_of_member) const {
    int turn = member().team;
    if constexpr (Config::kTeams > 1) turn ^= params_.walk.member(first_of_member) & 1;
    return turn;
  }
  SPARK_DEVICE BackwardBlock block() const {
    if constexpr (kHoldsBlock) {
      return block_;
    } else {
      return locate_backward<Config>(machine_, params_);
    }
  }
  SPARK_DEVICE TeamMember<Config> member() const { return TeamMember<Config>(machine_.warp()); }
  SPARK_DEVICE ScoreShare<Config> share() const { return ScoreShare<Config>(member().member); }
  SPARK_DEVICE TeamTiles<Config>& team() { return tiles_.team[member().team]; }
  /// Which of the step's 16-row groups is group g of this warp's.
  SPARK_DEVICE int group(int g) const { return Config::kScoreWarps == 1 ? g : share().part; }
  /// Looks for a step, and for the next one, which move_on() makes the step.
  SPARK_DEVICE void find(int /*place*/) {}
  SPARK_DEVICE void find_next(int /*place*/) {}
  SPARK_DEVICE void move_on() {}
  /// The first query of the step, of the one that find() found, and of the next one.
  SPARK_DEVICE int query_of(int place) const { return params_.walk.query(place); }
  SPARK_DEVICE int found_query(int place) const { return query_of(place); }
  SPARK_DEVICE int next_query(int place) const { return query_of(place); }
  /// S = -inf where the mask hides a key of a partial step.
  template <class Step>
  SPARK_DEVICE void hide(int place, Step& step) {
    if constexpr (kIsVarlen<Config>) {
      const int first_query = params_.walk.query(place);
      if (block().seen_by_all.contains(Range{first_query, first_query + Config::kStep})) return;
    } else {
      const int first_key = block().first_key;
      const int first_query = params_.walk.query(place);
      if (params_.mask.all_see(
              {first_query, first_query + Config::kStep},
              {first_key, first_key + SPARK_PLANTED(kBackwardCutStepAsWhole, Config::kBlockKeys,
                                                    Config::kBlockKeys - 1)})) {
        return;
      }
    }
    const KeyMask& mask = mask_of_keys<Config>(machine_, params_);
    if constexpr (Config::kMasksByEnds) {
      const int first_query = params_.walk.query(place);
      hide_outside<typename Config::Layout, Config::kScoreSteps, Step::kGroups>(
          mask, {first_query + Config::kStep - 1 + mask.begin_offset, mask.end(first_query)},
          machine_.lane(), [&](int g) { return query_of(place) + kGridRows * group(g); },
          first_score_key(), [&](int g, int at, int i) { step.p[g][at][i] = -INFINITY; });
    } else {
#pragma unroll
      for (int g = 0; g < Step::kGroups; ++g) {
        mask_scores<typename Config::Layout>(step.p[g], mask, machine_.lane(),
                                             query_of(place) + kGridRows * group(g),
                                             first_score_key());
      }
    }
  }
  SPARK_DEVICE int first_score_key() const {
    return block().first_key + Config::kScoreKeys * share().key_quarter;
  }

  Machine& machine_;
  const BackwardParams& params_;
  BackwardTiles<Config>& tiles_;
  int step_,
      next_step_;  // block-sparse: SparseTile::first of this step, and of the team's next one

 private:
  /// Whether the block's place comes from a list, and registers have room for it.
  static constexpr bool kHoldsBlock = (kIsVarlen<Config> && !Config::kKeepsItem) ||
                                      (kIsSparse<Config> && !Config::kKeepsPlace &&
                                       !(Config::kBorrowsValues && Config::kComputesDq));
  BackwardBlock block_;
};

/// The same for a pattern, whose steps are a list's tiles. step_ and next_step_ are their
/// SparseTile::first.
template <class Config, class Machine>
class ListedPosition : public BackwardPosition<Config, Machine> {
  using Base = BackwardPosition<Config, Machine>;

 public:
  SPARK_DEVICE bool has_step(int place) const { return query_of(place) < this->params_.query_end; }

 protected:
  using Base::Base;

  SPARK_DEVICE int first_place_from(int first_of_member, const BackwardBlock& block) const {
    const int turn = this->first_turn(first_of_member);
    const SparseBlock* const of_head = this->params_.sparse_keys.block(
        block.head(this->params_, first_of_member), this->machine_.block(1));
    const int first_tile = load_of_list(this->machine_, &of_head->first_tile);
    return first_of_member + Config::kStep * (first_tile + turn);
  }
  SPARK_DEVICE void find(int place) { this->step_ = load_step(place); }
  SPARK_DEVICE void find_next(int place) { this->next_step_ = load_step(place); }
  SPARK_DEVICE void move_on() { this->step_ = this->next_step_; }
  SPARK_DEVICE int query_of(int /*place*/) const { return first_of_tile(this->step_); }
  /// With two teams there is no register to keep what was found in: it is loaded again.
  SPARK_DEVICE int found_query(int place) const {
    return first_of_tile(Config::kTeams == 1 ? this->step_ : load_step(place));
  }
  SPARK_DEVICE int next_query(int place) const {
    return first_of_tile(Config::kTeams == 1 ? this->next_step_ : load_step(place));
  }
  template <class Step>
  SPARK_DEVICE void hide(int place, Step& step) {
    constexpr int kSharesOfWord = kSparseWordKeys / Config::kScoreKeys;
    static_assert(kSharesOfWord >= 1, "a warp's keys of a row are in one word");
    if (!is_cut_tile(this->step_)) return;
    constexpr int kRowWords = Config::kBlockKeys / kSparseWordKeys;
    const SparseTile* const tile = tile_of_step<Config>(this->params_, place);
    const int quarter = this->share().key_quarter;
    const std::uint32_t* const words =
        this->params_.sparse_keys.words +
        (load_of_list(this->machine_, &tile->words) + quarter / kSharesOfWord);
#pragma unroll
    for (int g = 0; g < Step::kGroups; ++g) {
      hide_unseen<typename Config::Layout, Config::kScoreSteps, kRowWords>(
          this->machine_, words + kRowWords * kGridRows * this->group(g),
          [&](int at, int i) { step.p[g][at][i] = -INFINITY; },
          Config::kScoreKeys * (quarter % kSharesOfWord));
    }
  }

 private:
  SPARK_DEVICE int load_step(int place) const {
    return load_of_list(this->machine_, &tile_of_step<Config>(this->params_, place)->first);
  }
};

template <class Config, class Machine>
using PositionOf = std::conditional_t<kIsSparse<Config>, ListedPosition<Config, Machine>,
                                      BackwardPosition<Config, Machine>>;

}  // namespace sparkbench::volta
