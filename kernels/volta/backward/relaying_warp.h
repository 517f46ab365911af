// The steps of the kernel of dK and dV that hand the sums of dQ on (relay.h), each once.
#pragma once

#include "kernels/volta/backward/output.h"
#include "kernels/volta/backward/position.h"
#include "kernels/volta/backward/relay.h"

namespace sparkbench::volta {

/// What a warp does in relay. All of it is nothing where Config::kRelaysDq is false.
template <class Config, class Machine>
class RelayingWarp : public BackwardPosition<Config, Machine> {
  using Position = BackwardPosition<Config, Machine>;

 public:
  /// In relay: looks whether it may add to dQ of the step, and later waits unless it may, and makes
  /// room where it is the first.
  SPARK_DEVICE int look_for_sums(int place) {
    if constexpr (Config::kRelaysDq) return look_for_dq(machine_, params_, relay_step(place));
    return 0;
  }
  SPARK_DEVICE void await_sums(int place, int seen) {
    if constexpr (Config::kRelaysDq) {
      const auto step = relay_step(place);
      await_dq(machine_, params_, step, seen < 0);
      clear_if_first(machine_, params_, step, query_of(place), member().member);
    }
  }
  /// In relay: the next block of keys may add to dQ of the step, behind whose end the team is.
  SPARK_DEVICE void hand_on(int place) {
    if constexpr (Config::kRelaysDq) {
      hand_on_dq(machine_, params_, relay_step(place),
                 machine_.thread() % (32 * Config::kTeamWarps) == 0);
    }
  }
  /// dQ that is complete behind the block, from its sums to registers, then does what is `between`,
  /// and from there to global memory. The warp has added what it adds.
  template <class Between>
  SPARK_DEVICE void finish_dq(Between between) {
    RelayedDq<Config> dq;
    machine_.barrier();
    const Range loaded = finished_queries();
    const int row = loaded.begin + kGridRows * machine_.warp();
    load_finished_dq<Config>(machine_, params_, 0, row, row < loaded.end, dq);
    between();
    auto& output = key_gradient_tiles(tiles_).output[machine_.warp()];
    const Range finished = finished_queries();  // not kept: registers are short
    write_finished_dq<Config>(machine_, params_, finished, output, dq);
    free_slots<Config>(machine_, params_, finished);
  }

 protected:
  using Position::machine_;
  using Position::member;
  using Position::params_;
  using Position::Position;
  using Position::query_of;
  using Position::tiles_;

  SPARK_DEVICE RelayStep<Config, Machine> relay_step(int place) {
    return {machine_, params_, params_.walk.member(place), query_of(place)};
  }

 private:
  SPARK_DEVICE Range finished_queries() const {
    return relay_geometry<Config>(params_).finished_by(relayed_block(machine_, params_));
  }
};

}  // namespace sparkbench::volta
