// How the dK/dV kernel adds a step's dQ to that of other key blocks, one class for each policy:
//   NoDq         not at all: another kernel computes dQ
//   AtomicDq     by atomic adds to the workspace's sums, in any order
//   SemaphoreDq  by the dQ semaphore (relay.h), in the order of key blocks
#pragma once

#include "kernels/volta/backward/dq_sums.h"
#include "kernels/volta/backward/output.h"
#include "kernels/volta/backward/position.h"
#include "kernels/volta/backward/relay.h"
#include "kernels/volta/backward/relay_statistics.h"

namespace sparkbench::volta {

template <class Config, class Machine>
class NoDq : public PositionOf<Config, Machine> {
  using Position = PositionOf<Config, Machine>;

 public:
  /// Looks whether it is this block's turn to add to dQ of the step; await_sums() later waits
  /// unless it is, and zeroes the sums if the block is the first.
  SPARK_DEVICE int look_for_sums(int /*place*/) { return 0; }
  SPARK_DEVICE void await_sums(int /*place*/, int /*seen*/) {}
  /// dQ += dS K for the step's queries, added up in global memory.
  SPARK_DEVICE void add_dq(int /*place*/) {}
  /// Passes the turn for dQ of the step to the next key block. The team must have ended the step.
  SPARK_DEVICE void hand_on(int /*place*/) {}
  /// Calls `between`, and stores the dQ that this block completes to global memory. The warp must
  /// have added its own dQ.
  template <class Between>
  SPARK_DEVICE void finish_dq(Between between) {
    between();
  }

 protected:
  using Position::Position;

  /// K and V, and Q and dO of the team's first step.
  SPARK_DEVICE void load_tiles(int place, int query) {
    load_first_tiles(this->machine_, this->params_, place, query, this->tiles_);
  }
};

template <class Config, class Machine>
class AtomicDq : public NoDq<Config, Machine> {
 public:
  SPARK_DEVICE void add_dq(int place) {
    add_step_dq<Config>(this->machine_, this->params_, this->tiles_.k, this->team(),
                        this->member().member, [&] {
                          const BackwardBlock here = this->block();
                          return DqSums{here.workspace_head(this->params_, place),
                                        here.workspace_row + this->query_of(place)};
                        });
  }

 protected:
  using NoDq<Config, Machine>::NoDq;
};

template <class Config, class Machine>
class SemaphoreDq : public NoDq<Config, Machine> {
  using Base = NoDq<Config, Machine>;

 public:
  SPARK_DEVICE int look_for_sums(int place) {
    return look_for_dq(machine_, params_, relay_step(place));
  }
  SPARK_DEVICE void await_sums(int place, int seen) {
    const auto step = relay_step(place);
    await_dq(machine_, params_, step, seen < 0);
    clear_if_first(machine_, params_, step, this->query_of(place), this->member().member);
  }
  SPARK_DEVICE void add_dq(int place) {
    add_step_dq<Config>(machine_, params_, tiles_.k, this->team(), this->member().member, [&] {
      return SlotSums<Config>{relay_step(place).slot().slot, this->query_of(place)};
    });
  }
  SPARK_DEVICE void hand_on(int place) {
    hand_on_dq(machine_, params_, relay_step(place),
               machine_.thread() % (32 * Config::kTeamWarps) == 0);
  }
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
  using Base::Base;
  using Base::machine_;
  using Base::params_;
  using Base::tiles_;

  SPARK_DEVICE void load_tiles(int place, int query) {
    if (params_.relay.prepares_statistics) {
      RelayStatistics<Config, Machine> statistics(machine_, params_, this->block());
      load_first_tiles(machine_, params_, place, query, tiles_, [&] { statistics.prepare(); });
    } else {
      Base::load_tiles(place, query);
    }
  }

 private:
  SPARK_DEVICE RelayStep<Config, Machine> relay_step(int place) {
    return {machine_, params_, params_.walk.member(place), this->query_of(place)};
  }
  SPARK_DEVICE Range finished_queries() const {
    return relay_geometry<Config>(params_).finished_by(relayed_block(machine_, params_));
  }
};

template <class Config, class Machine>
using DqReducer = std::conditional_t<
    !Config::kComputesDq, NoDq<Config, Machine>,
    std::conditional_t<Config::kRelaysDq, SemaphoreDq<Config, Machine>, AtomicDq<Config, Machine>>>;

}  // namespace sparkbench::volta
