// A warp's coordinates in the dK/dV kernel: in its block, in its team, and in the walk over
// queries.
#pragma once

#include "kernels/volta/backward/block.h"

namespace sparkbench::volta {

/// The block is located again wherever it is used: no register is left to keep it in, unless its
/// place comes from a list. The caller keeps a step's `place` (walk.h).
template <class Config, class Machine>
class BackwardPosition {
 public:
  /// The places of the team's steps (walk.h), over the queries that see a key of the block: the
  /// first of a head, and the one after `place`.
  SPARK_DEVICE int first_place() const { return first_place_from(params_.walk.first, block()); }
  SPARK_DEVICE static int next(int place) { return place + Config::kTeams * Config::kStep; }
  /// Whether this step exists, or the head has ended.
  SPARK_DEVICE bool has_step(int place) const {
    if constexpr (Config::kIsSparse) return query_of(place) < params_.query_end;
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
    int turn = member().team;
    if constexpr (Config::kTeams > 1) turn ^= params_.walk.member(first_of_member) & 1;
    if constexpr (Config::kIsSparse) {
      const SparseBlock* const of_head =
          params_.sparse_keys.block(block.head(params_, first_of_member), machine_.block(1));
      const int first_tile = load_of_list(machine_, &of_head->first_tile);
      return first_of_member + Config::kStep * (first_tile + turn);
    }
    return first_of_member +
           first_tile<Config::kStep>(queries_of_block<Config>(machine_, params_, block)) +
           Config::kStep * turn;
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
  SPARK_DEVICE int row_of_group(int place, int g) const {
    return query_of(place) + kGridRows * group(g);
  }
  /// SparseTile::first of the step at an index of the list.
  SPARK_DEVICE int load_step(int place) const {
    return load_of_list(machine_, &tile_of_step<Config>(params_, place)->first);
  }
  /// The first query of a step; for a pattern, of the step whose SparseTile::first is `step`.
  SPARK_DEVICE int query_of(int place, int step) const {
    if constexpr (Config::kIsSparse) {
      // With two teams there is no register to keep it in: it is loaded again.
      return first_of_tile(Config::kTeams == 1 ? step : load_step(place));
    }
    return params_.walk.query(place);
  }
  /// The first query of the step.
  SPARK_DEVICE int query_of(int place) const {
    if constexpr (Config::kIsSparse) return first_of_tile(step_);
    return params_.walk.query(place);
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
  static constexpr bool kHoldsBlock = (Config::kIsPacked && !Config::kKeepsItem) ||
                                      (Config::kIsSparse && !Config::kKeepsPlace &&
                                       !(Config::kBorrowsValues && Config::kComputesDq));
  BackwardBlock block_;
};

}  // namespace sparkbench::volta
