#include "kernels/machine/emulated/blocks/block_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

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
      copies_(memory_),
      products_(warps_.size(), AsyncProducts(*options.profile, memory_)),
      finished_(static_cast<std::size_t>(shape.threads)),
      fibers_(shape.threads, [this](int thread) { thread_main(thread); }) {}

void BlockRunner::run(const std::array<int, 3>& block, std::uint32_t block_index,
                      std::function<bool()> earlier_blocks_run) {
  block_ = block;
  earlier_blocks_run_ = std::move(earlier_blocks_run);
  findings_.begin_block(block, block_index);
  memory_.begin_block(block_index);
  schedule_ = WarpSchedule(options_.schedule_seed, block_index);
  ready_warps_ = all_warps_;
  waiting_warps_ = 0;
  waiting_members_ = 0;
  named_barriers_.begin_block();
  mbarriers_.begin_block();
  copies_.forget();
  for (AsyncProducts& products : products_) products.forget();
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

void BlockRunner::report_corrupt_indices(int thread, int number, const CallSite& site) {
  findings_.add(FindingKind::kCorruptIndices, site, thread, [&] {
    return FindingDetail{
        .message = fmt::format("recompute_indices({}) would change thread() and block() on a GPU: "
                               "the argument must be a multiple of 32",
                               number)};
  });
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
    run_as_thread(kernel_, *this, thread);
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
  if (copies_.is_any_pending() && schedule_.is_rarely()) end_copy(schedule_.is_late());
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
    case Collective::kLookForTurn:
    case Collective::kAwaitTurn:
    case Collective::kSyncWarp:
      memory_.sync_warp(warp_);
      return;
    case Collective::kShuffle:
    case Collective::kBallot:
    case Collective::kMmaM8n8k4:
    case Collective::kMmaM16n8k16:
    case Collective::kInitMbarrier:
    case Collective::kArriveAtMbarrier:
    case Collective::kExpectBytes:
    case Collective::kCopyBox:
    case Collective::kCopyBytes:
    case Collective::kFenceProducts:
    case Collective::kMultiplyAsync:
    case Collective::kCommitProducts:
    case Collective::kWaitForProducts:
      return;
    case Collective::kArriveAtBarrier:
      come_to_named_barrier(false);
      return;
    case Collective::kWaitAtBarrier:
      come_to_named_barrier(true);
      break;
    case Collective::kWaitAtMbarrier:
      wait_at_mbarrier();
      break;
    case Collective::kBarrier:
    case Collective::kBarrierOfWarps:
      ready_warps_ &= ~warp_bit();
      waiting_warps_ |= warp_bit();
      break;
    case Collective::kTeamBarrier:
      wait_for_team();
      break;
    case Collective::kExit:
      ready_warps_ &= ~warp_bit();
      break;
  }
  while (ready_warps_ == 0 && copies_.is_any_pending()) end_copy(schedule_.is_late());
  if (ready_warps_ != 0) return;
  if (const PhaseBarrier* const barrier = mbarriers_.first_awaited())
    abandon_missed_phase(*barrier);
  if (const std::size_t id = named_barriers_.first_awaited()) abandon_missed_named_barrier(id);
  if ((waiting_warps_ | waiting_members_) != 0) meet_at_barrier();
}

/// The warps that a warp which waits for its team waits for, and itself.
std::uint32_t BlockRunner::team_of(int warp) const {
  const auto warps = static_cast<int>(warps_[static_cast<std::size_t>(warp)].stops[0].arguments);
  return (all_warps_ >> (static_cast<int>(warps_.size()) - warps)) << (warp / warps * warps);
}

void BlockRunner::wait_for_team() {
  ready_warps_ &= ~warp_bit();
  waiting_members_ |= warp_bit();
  const std::uint32_t team = team_of(warp_);
  const int first_warp = std::countr_zero(team), end_warp = first_warp + std::popcount(team);
  for (int warp = first_warp; warp < end_warp; ++warp) {
    if (((waiting_members_ >> warp) & 1u) == 0 || team_of(warp) != team) return;
  }
  for (int warp = first_warp; warp < end_warp; ++warp) expect_same_barrier(first_warp, warp);
  memory_.barrier(first_warp, end_warp);
  ++counters_.barriers;
  waiting_members_ &= ~team;
  ready_warps_ |= team;
}

void BlockRunner::come_to_named_barrier(bool waits) {
  const std::uint32_t arguments = running_warp().stops[0].arguments;
  const auto id = static_cast<int>(barrier_id(arguments));
  NamedBarrier& barrier = named_barriers_[barrier_id(arguments)];
  const int expected = barrier_warps(arguments);
  if (barrier.came == 0) barrier.expected = expected;
  if (barrier.expected != expected) {
    abandon_misused_barrier(fmt::format("expects {} warps at barrier {}, where others expect {}",
                                        expected, id, barrier.expected));
  }
  if ((barrier.came_warps & warp_bit()) != 0) {
    abandon_misused_barrier(fmt::format(
        "comes to barrier {} twice before the {} warps of it have come once", id, expected));
  }
  ++barrier.came;
  barrier.came_warps |= warp_bit();
  memory_.arrive_at_barrier(id, warp_);
  if (waits) {
    ready_warps_ &= ~warp_bit();
    barrier.waiting_warps |= warp_bit();
  }
  if (!barrier.complete()) return;
  memory_.complete_barrier(id, barrier.waiting_warps);
  ++counters_.barriers;
  ready_warps_ |= barrier.waiting_warps;
  barrier = {};
}

PhaseBarrier& BlockRunner::mbarrier_at(int thread, Mbarrier* barrier, const CallSite& site) {
  memory_.may_touch_barrier({AccessKind::kLoadShared, sizeof *barrier, barrier, thread, site});
  PhaseBarrier* const found = mbarriers_.find(memory_.shared_address(barrier));
  if (found == nullptr) abandon_misused_barrier("the barrier has not been initialized");
  return *found;
}

void BlockRunner::init_mbarrier(int thread, Mbarrier* barrier, int warps, const CallSite& site) {
  if (!memory_.may_touch_barrier(
          {AccessKind::kStoreShared, sizeof *barrier, barrier, thread, site})) {
    return;
  }
  mbarriers_.init(memory_.shared_address(barrier), memory_.add_phase_barrier(), warps);
}

void BlockRunner::arrive_at_mbarrier(int thread, Mbarrier* barrier, const CallSite& site) {
  PhaseBarrier& at = mbarrier_at(thread, barrier, site);
  if (at.awaited_warps == 0) {
    abandon_misused_barrier(fmt::format("more than {} warps arrive in one phase", at.warps));
  }
  memory_.arrive_at_barrier(at.id, warp_);
  --at.awaited_warps;
  end_phase_if_complete(at);
}

void BlockRunner::expect_bytes(int thread, Mbarrier* barrier, int bytes, const CallSite& site) {
  mbarrier_at(thread, barrier, site).awaited_bytes += bytes;
}

void BlockRunner::start_copy(TensorCopy copy, Mbarrier* barrier) {
  copy.barrier = mbarrier_at(copy.thread, barrier, copy.site).offset;
  copies_.start(copy, counters_);
  if (!schedule_.is_late()) end_copy(true);
}

void BlockRunner::end_copy(bool is_last) {
  const TensorCopy copy = copies_.end(is_last);
  PhaseBarrier& barrier = *mbarriers_.find(copy.barrier);
  barrier.awaited_bytes -= copy.bytes;
  memory_.arrive_copy(barrier.id, copy.thread / kWarpLanes, copy.start_time);
  end_phase_if_complete(barrier);
}

void BlockRunner::end_phase_if_complete(PhaseBarrier& barrier) {
  if (!barrier.is_complete()) return;
  memory_.end_phase(barrier.id);
  ++counters_.barriers;
  const std::uint32_t woken = barrier.end_phase();
  for (std::uint32_t waiting = woken; waiting != 0; waiting &= waiting - 1) {
    memory_.learn(barrier.id, std::countr_zero(waiting));
  }
  ready_warps_ |= woken;
}

void BlockRunner::wait_at_mbarrier() {
  const Stop& stop = running_warp().stops[0];
  auto* const address = static_cast<std::byte*>(memory_.shared()) + (stop.arguments & ~1u);
  PhaseBarrier& barrier =
      mbarrier_at(warp_ * kWarpLanes, reinterpret_cast<Mbarrier*>(address), stop.site);
  if (barrier.has_ended(static_cast<int>(stop.arguments & 1u))) {
    memory_.learn(barrier.id, warp_);
    return;
  }
  ready_warps_ &= ~warp_bit();
  barrier.waiting_warps |= warp_bit();
}

void BlockRunner::meet_at_barrier() {
  if (waiting_warps_ != all_warps_) abandon_missed_barrier();
  for (int warp = 1; warp < static_cast<int>(warps_.size()); ++warp) expect_same_barrier(0, warp);
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

void BlockRunner::expect_same_barrier(int warp, int other_warp) {
  const Stop& here = warps_[static_cast<std::size_t>(warp)].stops[0];
  const Stop& there = warps_[static_cast<std::size_t>(other_warp)].stops[0];
  if (here == there || (here.collective == Collective::kBarrierOfWarps &&
                        there.collective == Collective::kBarrierOfWarps)) {
    return;
  }
  const int other_thread = other_warp * kWarpLanes;
  findings_.add(FindingKind::kDivergence, here.site, warp * kWarpLanes, [&]() -> FindingDetail {
    return {.other_thread = other_thread,
            .address = {},
            .message = fmt::format("waits at {}; thread {} of its block is at {}", describe(here),
                                   other_thread, describe(there))};
  });
  abandon();
}

void BlockRunner::abandon_missed_named_barrier(std::size_t id) {
  const NamedBarrier& barrier = named_barriers_[id];
  const int warp = std::countr_zero(barrier.waiting_warps);
  const Stop& stop = warps_[static_cast<std::size_t>(warp)].stops[0];
  findings_.add(FindingKind::kMissedBarrier, stop.site, warp * kWarpLanes, [&] {
    return FindingDetail{
        .message = fmt::format("waits at {}; of the {} warps of barrier {}, {} have come and no "
                               "more do",
                               describe(stop), barrier.expected, id, barrier.came)};
  });
  abandon();
}

void BlockRunner::abandon_missed_phase(const PhaseBarrier& barrier) {
  const int warp = std::countr_zero(barrier.waiting_warps);
  const Stop& stop = warps_[static_cast<std::size_t>(warp)].stops[0];
  findings_.add(FindingKind::kMissedBarrier, stop.site, warp * kWarpLanes, [&]() -> FindingDetail {
    return {.address = fmt::format("shared+{:#x}", barrier.offset),
            .message = fmt::format("waits at {} for phase {}; of its {} warps {} have arrived, {} "
                                   "bytes have not come, and no more do",
                                   describe(stop), barrier.phase, barrier.warps,
                                   barrier.warps - barrier.awaited_warps, barrier.awaited_bytes)};
  });
  abandon();
}

void BlockRunner::abandon_misused_barrier(const std::string& how) {
  const Stop& stop = running_warp().stops[0];
  findings_.add(FindingKind::kDivergence, stop.site, warp_ * kWarpLanes, [&] {
    return FindingDetail{.message = fmt::format("at {}, {}", describe(stop), how)};
  });
  abandon();
}

void BlockRunner::abandon_missed_barrier() {
  const bool waits_for_team = waiting_members_ != 0;
  const std::uint32_t waiting = waits_for_team ? waiting_members_ : waiting_warps_;
  const auto warp = static_cast<std::size_t>(std::countr_zero(waiting));
  const std::uint32_t awaited =
      (waits_for_team ? team_of(static_cast<int>(warp)) : all_warps_) & ~waiting;
  std::vector<int> missing;
  for (int thread = 0; thread < static_cast<int>(finished_.size()); ++thread) {
    if (((awaited >> (thread / kWarpLanes)) & 1u) != 0) missing.push_back(thread);
  }
  const Stop& stop = warps_[warp].stops[0];
  findings_.add(FindingKind::kMissedBarrier, stop.site, static_cast<int>(warp) * kWarpLanes,
                [&]() -> FindingDetail {
                  return {.other_thread = missing.front(),
                          .address = {},
                          .message = fmt::format("waits at {}; threads {} do not come",
                                                 describe(stop), describe_threads(missing))};
                });
  abandon();
}

}  // namespace sparkbench
