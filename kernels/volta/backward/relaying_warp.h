// The steps of the dK/dV kernel that use the dQ semaphore (relay.h), each once.
#pragma once

#include "kernels/volta/backward/output.h"
#include "kernels/volta/backward/position.h"
#include "kernels/volta/backward/relay.h"

namespace sparkbench::volta {

/// A warp's use of the dQ semaphore. Does nothing unless Config::kRelaysDq.
template <class Config, class Machine>
class RelayingWarp : public BackwardPosition<Config, Machine> {
  using Position = BackwardPosition<Config, Machine>;

 public:
  /// Looks whether it is this block's turn to add to dQ of the step; await_sums() later waits
  /// unless it is, and zeroes the sums if the block is the first.
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
  /// Passes the turn for dQ of the step to the next key block. The team must have ended the step.
  SPARK_DEVICE void hand_on(int place) {
    if constexpr (Config::kRelaysDq) {
      hand_on_dq(machine_, params_, relay_step(place),
                 machine_.thread() % (32 * Config::kTeamWarps) == 0);
    }
  }
  /// Loads dQ that is complete after this block from its sums to registers, does `between`, and
  /// writes dQ to global memory. The warp must have added its own dQ.
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
