// The steps of the kernel of dK and dV that hand the sums of dQ on (relay.h), each once.
#pragma once

#include "kernels/volta/backward/finished_tiles.h"
#include "kernels/volta/backward/output.h"
#include "kernels/volta/backward/position.h"
#include "kernels/volta/backward/relay.h"

namespace sparkbench::volta {

/// What a warp does in relay. All of it is nothing where Config::kRelaysDq is false.
template <class Config, class Machine>
class RelayingWarp : public BackwardPosition<Config, Machine> {
  using Position = BackwardPosition<Config, Machine>;

 public:
  /// What the step keeps to its end of its place in the relay.
  SPARK_DEVICE KeptRelayStep<Config> keep_relay_step(int place) {
    if constexpr (kKeepsRelayStep<Config>) return relay_step(place);
    return {};
  }
  /// In relay: looks whether it may add to dQ of the step, and later waits unless it may, and makes
  /// room where it is the first.
  SPARK_DEVICE int look_for_sums(int place, const KeptRelayStep<Config>& kept) {
    if constexpr (Config::kRelaysDq) {
      return look_for_dq(machine_, params_, relay_step_of(place, kept));
    }
    return 0;
  }
  SPARK_DEVICE void await_sums(int place, const KeptRelayStep<Config>& kept, int seen) {
    if constexpr (Config::kRelaysDq) {
      const auto step = relay_step_of(place, kept);
      await_dq(machine_, params_, step, seen < 0);
      clear_if_first<Config>(machine_, params_, step, query_of(place), member().member);
    }
  }
  /// In relay: the next block of keys may add to dQ of the step, behind whose end the team is.
  SPARK_DEVICE void hand_on(int place, const KeptRelayStep<Config>& kept) {
    if constexpr (Config::kRelaysDq) {
      hand_on_dq<Config>(machine_, params_, relay_step_of(place, kept),
                         machine_.thread() % (32 * Config::kTeamWarps) == 0);
    }
  }
  /// dQ that is complete behind the block, from its sums to registers, then does what is `between`,
  /// and from there to global memory. The warp has added what it adds.
  template <class Between>
  SPARK_DEVICE void finish_dq(Between between) {
    RelayedDq<Config> dq;
    machine_.barrier();
    if constexpr (Config::kIsSparse) {
      FinishedTiles<Config, Machine> finished(machine_, params_);
      finished.load(dq);
      between();
      finished.write(key_gradient_tiles(tiles_).output[machine_.warp()], dq);
    } else {
      FinishedQueries finished = finished_queries();
      const int row = finished.rows.begin + kGridRows * machine_.warp();
      load_finished_dq<Config>(machine_, params_, 0, row, row < finished.rows.end, dq);
      between();
      auto& output = key_gradient_tiles(tiles_).output[machine_.warp()];
      // Of packed sequences memory tells it, and loads wait for the stores of dK and dV.
      if constexpr (!Config::kIsPacked) finished = finished_queries();
      write_finished_dq<Config>(machine_, params_, finished, output, dq);
      if constexpr (!Config::kIsPacked) free_slots<Config>(machine_, params_, finished.rows);
    }
  }

 protected:
  using Position::machine_;
  using Position::member;
  using Position::params_;
  using Position::Position;
  using Position::query_of;
  using Position::tiles_;

  SPARK_DEVICE auto relay_step(int place) {
    const int of_group = params_.walk.member(place), query = query_of(place);
    if constexpr (Config::kIsSparse) {
      const auto seen =
          machine_.template load_global<std::uint32_t>(&tile_of_step<Config>(params_, place)->seen);
      return ListedRelayStep::of_tile<Config>(machine_, params_, of_group, seen, query);
    } else {
      return sparkbench::volta::relay_step<Config>(machine_, params_, of_group, query);
    }
  }
  SPARK_DEVICE auto relay_step_of(int place, const KeptRelayStep<Config>& kept) {
    if constexpr (kKeepsRelayStep<Config>) {
      return kept;
    } else {
      return relay_step(place);
    }
  }

 private:
  SPARK_DEVICE FinishedQueries finished_queries() const {
    const auto geometry = relay_geometry<Config>(machine_, params_);
    const int own = relayed_block<Config>(machine_, params_);
    if constexpr (Config::kIsPacked) {
      const int seqlen_k = mask_of_keys<Config>(machine_, params_).seqlen_k;
      const bool is_last = Config::kBlockKeys * (own + 1) >= seqlen_k;
      return {geometry.finished_by(own, is_last),
              load_work_place(machine_, params_.key_items).first_q,
              mask_of_keys<Config>(machine_, params_).seqlen_q};
    }
    return {geometry.finished_by(own), 0, params_.mask.seqlen_q};
  }
};

}  // namespace sparkbench::volta
