#include "harness/model/sm/sm_simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace sparkbench {
namespace {

int code_lines(const TimedCode& code) {
  std::uint32_t last = 0;
  for (const TimedInstruction& one : code.instructions) last = std::max(last, one.address);
  return static_cast<int>(last) / code.constants.icache_line + 1;
}

}  // namespace

SmSimulation::SmSimulation(const TimedCode& code, const SmWork& work)
    : code_(code),
      constants_(code.constants),
      work_(work),
      warps_per_block_(static_cast<int>(work.blocks.front()->size())),
      caches_(code.constants, code_lines(code)),
      memory_(code.constants),
      marks_(work.blocks.size()),
      is_measuring_(!work.repeats) {
  const int slots = static_cast<int>(work.start_offsets.size());
  barriers_.resize(slots);
  running_.resize(slots);
  block_of_slot_.resize(slots);
  warps_.resize(static_cast<std::size_t>(slots) * warps_per_block_);
  result_.instructions.resize(code.instructions.size());
  result_.blocks.resize(work.blocks.size());
  result_.marks.assign(work.marks.size(), -1);
  for (int i = 0; i < static_cast<int>(work.marks.size()); ++i) {
    marks_[work.marks[i].block].push_back(i);
  }
  for (int i = 0; i < static_cast<int>(warps_.size()); ++i) {
    warps_[i].slot = i / warps_per_block_;
    warps_[i].warp = i % warps_per_block_;
    Scheduler& scheduler = schedulers_[i % kSchedulers];
    scheduler.order.push_back(static_cast<int>(scheduler.warps.size()));
    scheduler.warps.push_back(i);
  }
  for (Scheduler& scheduler : schedulers_) {
    if (constants_.scheduler == kRoundRobin) scheduler.last = 0;
    if (constants_.scheduler == kGreedyThenYoungest)
      std::reverse(scheduler.order.begin(), scheduler.order.end());
  }
  for (int slot = 0; slot < slots; ++slot) start_block(slot, work.start_offsets[slot]);
}

// ---- A block's beginning and end -------------------------------------------

void SmSimulation::start_block(int slot, Cycle time) {
  const int block = next_block_++;
  block_of_slot_[slot] = block;
  result_.blocks[block].start = time;
  barriers_[slot] = {};
  running_[slot] = warps_per_block_;
  alive_ += warps_per_block_;
  for (int i = 0; i < warps_per_block_; ++i) {
    WarpState& warp = warps_[slot * warps_per_block_ + i];
    const int generation = warp.generation + 1;
    warp = WarpState{};
    warp.slot = slot;
    warp.warp = i;
    warp.generation = generation;
    warp.path = &(*work_.blocks[block])[i];
    warp.next_issue = warp.ready = time;
    warp.is_done = false;
    note_mark(warp);
  }
}

/// A block that comes late is younger than those that are there.
void SmSimulation::rank_youngest(int slot) {
  for (Scheduler& scheduler : schedulers_) {
    const auto is_other = [&](int position) {
      return warps_[scheduler.warps[position]].slot != slot;
    };
    if (constants_.scheduler == kGreedyThenYoungest) {
      std::stable_partition(scheduler.order.begin(), scheduler.order.end(), std::not_fn(is_other));
    } else {
      std::stable_partition(scheduler.order.begin(), scheduler.order.end(), is_other);
    }
  }
}

/// Looks for the next of the warp's marks, which it has not passed.
void SmSimulation::note_mark(WarpState& warp) {
  warp.marked_position = std::numeric_limits<int>::max();
  for (const int index : marks_[block_of_slot_[warp.slot]]) {
    const PathMark& mark = work_.marks[index];
    const bool is_ahead = mark.position >= warp.position && result_.marks[index] < 0;
    if (mark.warp != warp.warp || !is_ahead || mark.position >= warp.marked_position) continue;
    warp.marked_position = mark.position;
    warp.next_mark = index;
  }
}

void SmSimulation::advance(int index) {
  WarpState& warp = warps_[index];
  while (warp.position == warp.marked_position) {
    result_.marks[warp.next_mark] = now_;
    warp.next_issue += work_.marks[warp.next_mark].pause;
    warp.ready = warp.next_issue;
    note_mark(warp);
  }
  if (++warp.position < static_cast<int>(warp.path->size())) return;
  if (work_.repeats) {
    end_pass(warp);
  } else {
    end_path(warp);
  }
}

void SmSimulation::end_pass(WarpState& warp) {
  warp.position = 0;
  ++warp.passes;
  ++passes_;
  const auto all = static_cast<std::int64_t>(warps_.size());
  const auto total_progress = [this] {
    double sum = 0.0;
    for (const WarpState& one : warps_) sum += progress(one);
    return sum;
  };
  if (!is_measuring_ && passes_ >= work_.warm * all) {
    is_measuring_ = true;
    window_start_ = now_;
    start_progress_ = total_progress();
  } else if (passes_ >= static_cast<std::int64_t>(work_.warm + work_.measured) * all) {
    is_over_ = true;
    result_.cycles = now_ - window_start_;
    result_.iterations = (total_progress() - start_progress_) / static_cast<double>(all);
  }
}

void SmSimulation::end_path(WarpState& warp) {
  const int slot = warp.slot;
  warp.is_done = true;
  --alive_;
  if (--running_[slot] > 0) {
    // Warps that have ended are not waited for.
    for (BarrierState& barrier : barriers_[slot]) {
      if (barrier.is_of_block && barrier.arrived >= running_[slot]) open(slot, barrier);
    }
    return;
  }
  result_.blocks[block_of_slot_[slot]].end = now_ + 1;
  if (next_block_ == static_cast<int>(work_.blocks.size())) return;
  start_block(slot, now_ + 1);
  rank_youngest(slot);
}

// ---- A cycle ----------------------------------------------------------------

void SmSimulation::run_events() {
  while (events_.is_due(now_)) {
    const Event event = events_.pop();
    if (warps_[event.warp].generation != event.generation) continue;
    if (event.scoreboard < 0) {
      for (std::uint32_t waiting = event.waiting; waiting != 0; waiting &= waiting - 1) {
        WarpState& warp = warps_[event.warp + std::countr_zero(waiting)];
        warp.is_at_barrier = false;
        warp.next_issue = std::max(now_, warp.next_issue);
        warp.barrier_release = now_;
      }
      continue;
    }
    WarpState& warp = warps_[event.warp];
    Scoreboard& scoreboard = warp.scoreboards[event.scoreboard];
    --scoreboard.pending;
    if (event.is_tensor_result) --scoreboard.pending_tensor;
    scoreboard.released = now_;
    scoreboard.reason = event.reason;
    if (scoreboard.pending == 0) {
      warp.pending = static_cast<std::uint8_t>(warp.pending & ~(1 << event.scoreboard));
    }
  }
}

void SmSimulation::serve_memory() {
  const auto service = memory_.serve(static_cast<double>(now_));
  if (!service) return;
  const TimedInstruction& instruction = *service->request.instruction;
  if (warps_[service->request.warp].generation != service->request.generation) return;
  const auto release_if = [&](int scoreboard, double time, WaitReason reason) {
    if (scoreboard < kScoreboards) release(service->request.warp, scoreboard, time, reason);
  };
  release_if(instruction.control.write, service->result,
             WaitReason::kResult + instruction.timing_class);
  release_if(instruction.control.read, service->sources,
             WaitReason::kSources + instruction.timing_class);
}

void SmSimulation::report_deadlock() const {
  const auto stuck = std::find_if(warps_.begin(), warps_.end(),
                                  [](const WarpState& warp) { return !warp.is_done; });
  const PathStep& step = (*stuck->path)[stuck->position];
  throw std::runtime_error(fmt::format(
      "the warps wait for each other at cycle {}: warp {} of block {} {} at {:#x}", now_,
      stuck->warp, block_of_slot_[stuck->slot],
      stuck->is_at_barrier ? "waits at a barrier before the instruction" : "cannot issue",
      code_.instructions[step.instruction].address));
}

SmResult SmSimulation::run() {
  while (alive_ > 0) {
    run_events();
    serve_memory();
    next_time_ = std::numeric_limits<double>::infinity();
    const bool is_any_issued = issue();
    if (is_over_) return std::move(result_);
    if (is_any_issued) {
      ++now_;
      continue;
    }
    look_again(memory_.next_service());
    look_again(events_.next());
    if (next_time_ == std::numeric_limits<double>::infinity()) report_deadlock();
    now_ = std::max(now_ + 1, static_cast<Cycle>(std::ceil(next_time_)));
  }
  result_.cycles = now_;
  result_.iterations = 1;
  return std::move(result_);
}

}  // namespace sparkbench
