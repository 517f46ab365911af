// Which instructions issue in a cycle, and what they do then.
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/model/sm/sm_simulation.h"

namespace sparkbench {

bool SmSimulation::issue() {
  bool is_any = false;
  for (int scheduler = 0; scheduler < kSchedulers && !is_over_; ++scheduler) {
    is_any = issue_from(scheduler) || is_any;
  }
  return is_any;
}

bool SmSimulation::issue_from(int index) {
  const Scheduler& scheduler = schedulers_[index];
  const int count = static_cast<int>(scheduler.warps.size());
  const int last = scheduler.last;
  if (constants_.scheduler == kRoundRobin) {
    for (int i = 0; i < count; ++i) {
      if (try_issue(index, (last + i) % count)) return true;
    }
    return false;
  }
  // The last one goes on, unless it yields.
  if (last >= 0 && !scheduler.has_yielded && try_issue(index, last)) return true;
  for (const int position : scheduler.order) {
    if (position != last && try_issue(index, position)) return true;
  }
  return last >= 0 && scheduler.has_yielded && try_issue(index, last);
}

bool SmSimulation::try_issue(int scheduler, int position) {
  const int index = schedulers_[scheduler].warps[position];
  WarpState& warp = warps_[index];
  if (warp.is_done || warp.is_at_barrier) return false;
  if (warp.next_issue > now_) {
    look_again(static_cast<double>(warp.next_issue));
    return false;
  }
  const PathStep step = (*warp.path)[warp.position];
  const TimedInstruction& instruction = code_.instructions[step.instruction];
  const bool is_executed = step.is_executed && !instruction.is_never_executed;
  const int line = static_cast<int>(instruction.address) / constants_.icache_line;
  if (line != warp.line && !is_fetched(warp, scheduler, line)) return false;
  if (!is_free_of_hazards(warp, instruction, is_executed)) return false;
  if (is_executed && !has_room(scheduler, instruction)) return false;

  if (is_measuring_) record(warp, step, instruction);
  Cycle stall = std::max<Cycle>(1, instruction.control.stall);
  if (is_executed) {
    execute(scheduler, index, instruction);
    if (step.is_taken && instruction.is_branch) {
      stall = std::max<Cycle>(stall, constants_.branch_taken);
    }
  }
  warp.next_issue = warp.ready = now_ + stall;
  warp.fetch = 0;
  Scheduler& chosen = schedulers_[scheduler];
  chosen.has_yielded = !instruction.control.prefers_this_warp;
  const bool turns = constants_.scheduler == kRoundRobin && chosen.has_yielded;
  chosen.last = turns ? (position + 1) % static_cast<int>(chosen.warps.size()) : position;
  advance(index);
  return true;
}

// ---- What an instruction waits for -------------------------------------------

bool SmSimulation::is_fetched(WarpState& warp, int scheduler, int line) {
  warp.fetch = caches_.enter(scheduler, line, warp.line, static_cast<double>(now_));
  warp.line = line;
  if (warp.fetch <= 0) return true;
  warp.next_issue = now_ + static_cast<Cycle>(std::ceil(warp.fetch));
  look_again(static_cast<double>(warp.next_issue));
  return false;
}

bool SmSimulation::is_free_of_hazards(const WarpState& warp, const TimedInstruction& instruction,
                                      bool is_executed) {
  unsigned awaited = warp.pending & instruction.control.wait;
  if (awaited != 0 && !(instruction.is_tensor && is_executed)) return false;
  const int forward = instruction.timing_class == TimingClass::kHmmaF32
                          ? constants_.hmma_f32_forward
                          : constants_.hmma_f16_forward;
  for (; awaited != 0; awaited &= awaited - 1) {
    const Scoreboard& scoreboard = warp.scoreboards[std::countr_zero(awaited)];
    if (scoreboard.pending > scoreboard.pending_tensor) return false;
    if (scoreboard.last_tensor + forward > now_) {
      look_again(static_cast<double>(scoreboard.last_tensor + forward));
      return false;
    }
  }
  const PendingLimit& limit = instruction.limit;
  return limit.scoreboard < 0 || warp.scoreboards[limit.scoreboard].pending <= limit.most;
}

bool SmSimulation::has_room(int scheduler, const TimedInstruction& instruction) {
  if (instruction.port != Port::kNone) {
    const Cycle free = schedulers_[scheduler].port_free[static_cast<std::size_t>(instruction.port)];
    if (free <= now_) return true;
    look_again(static_cast<double>(free));
    return false;
  }
  return !instruction.is_mio || !memory_.is_full(scheduler);
}

// ---- What it does -------------------------------------------------------------

void SmSimulation::execute(int scheduler, int index, const TimedInstruction& instruction) {
  const ControlBits& control = instruction.control;
  WarpState& warp = warps_[index];
  if (instruction.port != Port::kNone) {
    dispatch(scheduler, index, instruction);
  } else if (instruction.is_mio) {
    if (control.write < kScoreboards) hold(index, control.write);
    if (control.read < kScoreboards) hold(index, control.read);
    memory_.push(scheduler, {static_cast<double>(now_), &instruction, index, warp.generation});
    look_again(static_cast<double>(now_ + constants_.mio_min_latency));
  } else if (instruction.barrier) {
    meet(index, (*warp.path)[warp.position], *instruction.barrier);
  } else if (control.write < kScoreboards) {
    hold(index, control.write);
    release(index, control.write, static_cast<double>(now_ + instruction.latency),
            WaitReason::kResult + instruction.timing_class);
  }
}

void SmSimulation::dispatch(int scheduler, int index, const TimedInstruction& instruction) {
  const ControlBits& control = instruction.control;
  schedulers_[scheduler].port_free[static_cast<std::size_t>(instruction.port)] =
      now_ + instruction.hold;
  if (control.write < kScoreboards) {
    hold(index, control.write);
    if (instruction.is_tensor) {
      Scoreboard& scoreboard = warps_[index].scoreboards[control.write];
      ++scoreboard.pending_tensor;
      scoreboard.last_tensor = now_;
    }
    release(index, control.write, static_cast<double>(now_ + instruction.latency),
            WaitReason::kResult + instruction.timing_class, instruction.is_tensor);
  }
  if (control.read < kScoreboards) {
    hold(index, control.read);
    release(index, control.read,
            static_cast<double>(now_ + constants_.read_release_fixed + instruction.hold),
            WaitReason::kSources + instruction.timing_class);
  }
}

void SmSimulation::meet(int index, const PathStep& step, const BarrierUse& use) {
  WarpState& warp = warps_[index];
  BarrierState& barrier = barriers_[warp.slot][step.barrier];
  barrier.is_of_block = step.barrier_warps == 0;
  ++barrier.arrived;
  if (use.waits) {
    barrier.waiting |= 1u << warp.warp;
    warp.is_at_barrier = true;
  }
  const int meeting = barrier.is_of_block ? running_[warp.slot] : step.barrier_warps;
  if (barrier.arrived >= meeting) open(warp.slot, barrier);
}

void SmSimulation::open(int slot, BarrierState& barrier) {
  const int first = slot * warps_per_block_;
  events_.push({static_cast<double>(now_ + constants_.bar_latency), 0, first,
                warps_[first].generation, barrier.waiting, -1, false, WaitReason::kBarrier});
  barrier = {};
}

/// Divides the time since the warp was ready among what it waited for.
void SmSimulation::record(const WarpState& warp, const PathStep& step,
                          const TimedInstruction& instruction) {
  InstructionWaits& own = result_.instructions[step.instruction];
  const auto add = [&](WaitReason reason, double cycles) {
    if (cycles <= 0) return;
    own.waits.add(reason, cycles);
    result_.waits.add(reason, cycles);
  };
  ++own.issues;
  result_.waits.add(WaitReason::kStallCount, std::max<int>(1, instruction.control.stall) - 1);
  result_.waits.add(WaitReason::kIssuing, 1);
  const auto wait = static_cast<double>(now_ - warp.ready);
  if (wait <= 0) return;
  Cycle released = 0;
  WaitReason why = WaitReason::kIssuing;
  for (int i = 0; i < kScoreboards; ++i) {
    if ((instruction.control.wait >> i & 1) == 0 || warp.scoreboards[i].released <= released) {
      continue;
    }
    released = warp.scoreboards[i].released;
    why = warp.scoreboards[i].reason;
  }
  const auto positive = [](Cycle cycles) {
    return static_cast<double>(std::max<Cycle>(0, cycles));
  };
  const double at_barrier = std::min(positive(warp.barrier_release - warp.ready), wait);
  const double scoreboard =
      std::min(positive(released - std::max(warp.ready, warp.barrier_release)), wait - at_barrier);
  const double fetch = std::min(warp.fetch, wait - scoreboard - at_barrier);
  add(why, scoreboard);
  add(WaitReason::kBarrier, at_barrier);
  add(WaitReason::kFetch, fetch);
  add(instruction.is_mio ? WaitReason::kMioQueue : WaitReason::kPort + instruction.port,
      wait - scoreboard - at_barrier - fetch);
}

}  // namespace sparkbench
