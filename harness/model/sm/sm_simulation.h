// The state of a simulation; sm_simulator.h is its use.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "harness/model/sm/instruction_cache.h"
#include "harness/model/sm/memory_unit.h"
#include "harness/model/sm/sm_simulator.h"
#include "harness/model/sm/warp_state.h"

namespace sparkbench {

/// Which of a scheduler's warps issues.
struct Scheduler {
  std::vector<int> warps;  // of the SM
  std::vector<int> order;  // of preference among `warps`, but for the last that issued
  int last = -1;           // of `warps`
  bool has_yielded = false;
  std::array<Cycle, kPorts> port_free{};
};

class SmSimulation {
 public:
  SmSimulation(const TimedCode& code, const SmWork& work);

  SmResult run();

 private:
  // What happens in a cycle, in this order.
  void run_events();
  void serve_memory();
  bool issue();

  bool issue_from(int scheduler);
  bool try_issue(int scheduler, int index);
  bool is_fetched(WarpState& warp, int scheduler, int line);
  bool is_free_of_hazards(const WarpState& warp, const TimedInstruction& instruction,
                          bool is_executed);
  bool has_room(int scheduler, const TimedInstruction& instruction);
  void execute(int scheduler, int index, const TimedInstruction& instruction);
  void hold(int index, int scoreboard) {
    ++warps_[index].scoreboards[scoreboard].pending;
    warps_[index].pending = static_cast<std::uint8_t>(warps_[index].pending | 1 << scoreboard);
  }
  void release(int index, int scoreboard, double time, WaitReason reason,
               bool is_tensor_result = false) {
    events_.push({time, 0, index, warps_[index].generation, 0, static_cast<std::int8_t>(scoreboard),
                  is_tensor_result, reason});
  }
  void dispatch(int scheduler, int index, const TimedInstruction& instruction);
  void meet(int index, const PathStep& step, const BarrierUse& use);
  void open(int slot, BarrierState& barrier);
  void record(const WarpState& warp, const PathStep& step, const TimedInstruction& instruction);

  // Ways and blocks.
  void start_block(int slot, Cycle time);
  void rank_youngest(int slot);
  void advance(int index);
  void end_pass(WarpState& warp);
  void end_path(WarpState& warp);
  void note_mark(WarpState& warp);
  double progress(const WarpState& warp) const {
    return warp.passes +
           static_cast<double>(warp.position) / static_cast<double>(warp.path->size());
  }
  [[noreturn]] void report_deadlock() const;

  /// Something may happen at `time`.
  void look_again(double time) { next_time_ = time < next_time_ ? time : next_time_; }

  const TimedCode& code_;
  const SmConstants& constants_;
  const SmWork& work_;
  const int warps_per_block_;
  InstructionCaches caches_;
  MemoryUnit memory_;
  EventQueue events_;
  std::vector<WarpState> warps_;  // a block's one after another, slot by slot
  std::array<Scheduler, kSchedulers> schedulers_;
  std::vector<std::array<BarrierState, kBarriers>> barriers_;  // of each slot
  std::vector<int> running_;                                   // warps of each slot
  std::vector<int> block_of_slot_;
  std::vector<std::vector<int>> marks_;  // of each block: indices, by warp and position
  int next_block_ = 0;
  int alive_ = 0;

  Cycle now_ = 0;
  double next_time_ = std::numeric_limits<double>::infinity();
  bool is_measuring_;
  bool is_over_ = false;
  Cycle window_start_ = 0;
  std::int64_t passes_ = 0;  // of all warps
  double start_progress_ = 0.0;
  SmResult result_{};
};

}  // namespace sparkbench
