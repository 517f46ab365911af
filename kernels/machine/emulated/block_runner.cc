#include "kernels/machine/emulated/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/machine/emulated/machine.h"

namespace sparkbench {

BlockRunner::BlockRunner(const LaunchShape& shape, const EmulationOptions& options,
                         const EmulatedKernel& kernel, GlobalMemory& global)
    : options_(options),
      kernel_(kernel),
      findings_(shape.kernel),
      memory_({.shared_bytes = shape.shared_bytes,
               .warps = shape.threads / kWarpLanes,
               .detect = options.detect,
               .count = options.count},
              global, findings_),
      schedule_(options.schedule_seed, 0),
      warps_(static_cast<std::size_t>(shape.threads / kWarpLanes)),
      all_warps_(~0u >> (kWarpLanes - shape.threads / kWarpLanes)),
      finished_(static_cast<std::size_t>(shape.threads)),
      fibers_(shape.threads, [this](int thread) { thread_main(thread); }) {}

void BlockRunner::run(const std::array<int, 3>& block, std::uint32_t block_index) {
  block_ = block;
  findings_.begin_block(block, block_index);
  memory_.begin_block(block_index);
  schedule_ = WarpSchedule(options_.schedule_seed, block_index);
  ready_warps_ = all_warps_;
  waiting_warps_ = 0;
  warp_ = 0;
  finished_.assign(finished_.size(), false);
  abandoned_ = false;
  fibers_.switch_to(begin_phase());
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Counters BlockRunner::counters() const {
  Counters counters = counters_;
  const auto warp_calls = [](std::uint64_t calls) { return (calls + kWarpLanes - 1) / kWarpLanes; };
  counters.mufu = warp_calls(lane_calls_.mufu);
  counters.half_conversions = warp_calls(lane_calls_.half_conversions);
  counters.half_widenings = warp_calls(lane_calls_.half_widenings);
  counters.fma = warp_calls(lane_calls_.fma);
  return options_.count ? counters : Counters{};
}

void BlockRunner::thread_main(int thread) {
  for (;;) {
    run_kernel(thread);
    finished_[static_cast<std::size_t>(thread)] = true;
    fibers_.switch_to(abandoned_ ? next_unfinished() : next_thread());
  }
}

void BlockRunner::run_kernel(int thread) {
  if (abandoned_) return;
  try {
    EmulatedMachine machine(*this, thread);
    kernel_(machine);
    arrive(thread, {Collective::kExit, 0, {}});
  } catch (const BlockAbandoned&) {
  } catch (...) {
    error_ = std::current_exception();
    abandoned_ = true;
    memory_.abandon();
  }
}

int BlockRunner::begin_phase() {
  if (ready_warps_ == 0) return fibers_.maker();
  warp_ = schedule_.next_warp(ready_warps_, warp_);
  lane_mask_ = schedule_.lane_mask();
  stopped_lanes_ = 0;
  return warp_ * kWarpLanes + lane_mask_;
}

void BlockRunner::end_phase() {
  Warp& warp = running_warp();
  ++warp.phases;
  const auto& stops = warp.stops;
  if (std::adjacent_find(stops.begin(), stops.end(), std::not_equal_to<>()) != stops.end()) {
    abandon_divergent_warp();
  }
  memory_.end_warp_phase(counters_);
  switch (stops[0].collective) {
    case Collective::kSyncWarp:
      memory_.sync_warp(warp_);
      return;
    case Collective::kBallot:
    case Collective::kShuffle:
    case Collective::kMma:
      return;
    case Collective::kBarrier:
    case Collective::kBarrierOfWarps:
      waiting_warps_ |= warp_bit();
      break;
    case Collective::kExit:
      break;
  }
  ready_warps_ &= ~warp_bit();
  if (ready_warps_ == 0 && waiting_warps_ != 0) meet_at_barrier();
}

void BlockRunner::meet_at_barrier() {
  if (waiting_warps_ != all_warps_) abandon_missed_barrier();
  for (std::size_t warp = 1; warp < warps_.size(); ++warp) {
    const Stop &first = warps_[0].stops[0], &here = warps_[warp].stops[0];
    const bool may_differ = first.collective == Collective::kBarrierOfWarps &&
                            here.collective == Collective::kBarrierOfWarps;
    if (!may_differ && !(first == here))
      abandon_warps_at_different_barriers(static_cast<int>(warp));
  }
  memory_.barrier();
  ++counters_.barriers;
  ready_warps_ = std::exchange(waiting_warps_, 0);
}

int BlockRunner::next_unfinished() const {
  const auto thread = std::find(finished_.begin(), finished_.end(), false);
  return thread == finished_.end() ? fibers_.maker() : static_cast<int>(thread - finished_.begin());
}

void BlockRunner::abandon() {
  abandoned_ = true;
  memory_.abandon();
  throw BlockAbandoned{};
}

void BlockRunner::abandon_divergent_warp() {
  const auto& stops = running_warp().stops;
  const int first_thread = warp_ * kWarpLanes;
  // The first lane that waits tells the finding: the others are where it does not expect them.
  const auto waits = [](const Stop& stop) { return stop.collective != Collective::kExit; };
  const Stop& here = *std::find_if(stops.begin(), stops.end(), waits);
  std::vector<int> elsewhere;
  bool all_ended = true;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    const Stop& stop = stops[static_cast<std::size_t>(lane)];
    if (stop == here) continue;
    elsewhere.push_back(first_thread + lane);
    all_ended = all_ended && !waits(stop);
  }
  const Stop& there = stops[static_cast<std::size_t>(elsewhere.front() - first_thread)];
  const bool missed = is_barrier(here.collective) && all_ended;
  const auto kind = missed ? FindingKind::kMissedBarrier : FindingKind::kDivergence;
  const int thread = first_thread + static_cast<int>(&here - stops.data());
  findings_.add(kind, here.site, thread, [&]() -> FindingDetail {
    return {.other_thread = elsewhere.front(),
            .address = {},
            .message = fmt::format("waits at {}; threads {} of its warp do not come, thread {} is "
                                   "at {}",
                                   describe(here), describe_threads(elsewhere), elsewhere.front(),
                                   describe(there))};
  });
  abandon();
}

void BlockRunner::abandon_warps_at_different_barriers(int other_warp) {
  const Stop &here = warps_[0].stops[0],
             &there = warps_[static_cast<std::size_t>(other_warp)].stops[0];
  const int other_thread = other_warp * kWarpLanes;
  findings_.add(FindingKind::kDivergence, here.site, 0, [&]() -> FindingDetail {
    return {.other_thread = other_thread,
            .address = {},
            .message = fmt::format("waits at {}; thread {} of its block is at {}", describe(here),
                                   other_thread, describe(there))};
  });
  abandon();
}

void BlockRunner::abandon_missed_barrier() {
  std::vector<int> missing;
  for (int thread = 0; thread < static_cast<int>(finished_.size()); ++thread) {
    if (((waiting_warps_ >> (thread / kWarpLanes)) & 1u) == 0) missing.push_back(thread);
  }
  const auto warp = static_cast<std::size_t>(std::countr_zero(waiting_warps_));
  const Stop& stop = warps_[warp].stops[0];
  findings_.add(FindingKind::kMissedBarrier, stop.site, static_cast<int>(warp) * kWarpLanes,
                [&]() -> FindingDetail {
                  return {.other_thread = missing.front(),
                          .address = {},
                          .message = fmt::format("waits at {}; threads {} have ended",
                                                 describe(stop), describe_threads(missing))};
                });
  abandon();
}

}  // namespace sparkbench
