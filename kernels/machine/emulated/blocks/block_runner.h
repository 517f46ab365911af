// Runs blocks, one after another, every thread a fiber.
//
// A warp runs in phases: each lane in turn runs to its next stop (stop.h), then the lanes have met
// and the collective happens. So divergence shows as soon as a phase ends, a deadlock shows as soon
// as all warps wait, and no deadlock reaches the host.
//
// A collective is, in the lane's own code:
//   deposit what the others need;
//   if (runner.arrive(thread, stop)) do what is done once for the warp;   // the last lane to come
//   runner.proceed(thread);                                               // returns when all came
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "kernels/machine/emulated/blocks/async_products.h"
#include "kernels/machine/emulated/blocks/fibers.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/blocks/mbarriers.h"
#include "kernels/machine/emulated/blocks/named_barriers.h"
#include "kernels/machine/emulated/blocks/stop.h"
#include "kernels/machine/emulated/blocks/tensor_copies.h"
#include "kernels/machine/emulated/blocks/warp_schedule.h"
#include "kernels/machine/emulated/memory/block_memory.h"
#include "kernels/machine/emulated/report/counters.h"
#include "kernels/machine/emulated/report/finding.h"
#include "kernels/machine/emulated/tensor_core/mma_exchange.h"

namespace sparkbench {

/// Counted once per lane call.
struct LaneCalls {
  std::uint64_t mufu = 0;
  std::uint64_t half_conversions = 0;
  std::uint64_t half_widenings = 0;
  std::uint64_t fma = 0;
};

class BlockRunner;

/// Runs the kernel as a thread of the runner's block, through an EmulatedMachine. Only machine.cc
/// knows both types.
void run_as_thread(const EmulatedKernel& kernel, BlockRunner& runner, int thread);

class BlockRunner {
 public:
  /// All references must outlive the runner. Stays on the host thread that made it.
  BlockRunner(const LaunchShape& shape, const EmulationOptions& options,
              const EmulatedKernel& kernel, GlobalMemory& global);

  /// Runs one block to its end, or until its threads can never meet. Rethrows what the kernel
  /// threw. `earlier_blocks_run` tells whether an earlier block is still running, and may yet pass
  /// a turn that this one awaits.
  void run(
      const std::array<int, 3>& block, std::uint32_t block_index,
      std::function<bool()> earlier_blocks_run = [] { return false; });

  // Totals of all blocks run so far.
  Counters counters() const;
  std::vector<SiteCounters> sites() const { return memory_.log().sites(); }
  const FindingLog& findings() const { return findings_; }

  // For the machine of a thread that runs.
  const std::array<int, 3>& block() const { return block_; }
  const ArithmeticProfile& profile() const { return *options_.profile; }
  BlockMemory& memory() { return memory_; }
  Counters& counted() { return counters_; }
  LaneCalls& lane_calls() { return lane_calls_; }
  MmaExchange& mma_exchange() { return mma_exchange_; }
  /// wgmma, of the running warp.
  void start_product(const Product& product) {
    running_products().start(product, schedule_.is_late());
  }
  void commit_products() { running_products().commit(); }
  void wait_for_products(int pending) { running_products().wait(pending); }
  /// The running warp's look_for_turn() and await_turn() (machine.h).
  int look_for_turn(const MemoryAccess& access, std::uint32_t turn) {
    const int since = memory_.turns_since(access, turn);
    memory_.sync_warp(warp_);
    return since;
  }
  void await_turn(const MemoryAccess& access, std::uint32_t turn) {
    memory_.await_turn(access, turn, earlier_blocks_run_);
    memory_.sync_warp(warp_);
  }
  void await_published(const MemoryAccess& access) {
    memory_.await_published(access, earlier_blocks_run_);
  }
  // Barriers in shared memory, used by the running warp; `thread` stands for the warp in findings.
  void init_mbarrier(int thread, Mbarrier* barrier, int warps, const CallSite& site);
  void arrive_at_mbarrier(int thread, Mbarrier* barrier, const CallSite& site);
  void expect_bytes(int thread, Mbarrier* barrier, int bytes, const CallSite& site);
  /// `copy` has no barrier yet: it is told once it ends, now or later.
  void start_copy(TensorCopy copy, Mbarrier* barrier);
  /// The words that the lanes of the running warp exchange at this stop. Valid until the next stop
  /// but one.
  std::array<std::uint32_t, kWarpLanes>& exchange() {
    Warp& warp = running_warp();
    return warp.exchange[warp.phases % 2];
  }
  /// The thread has asked for recompute_indices(number), which 32 does not divide.
  void report_corrupt_indices(int thread, int number, const CallSite& site);

  /// The thread has come to a stop. True for the last lane of the warp. Throws (what only the
  /// runner catches) when that shows that the block cannot go on.
  bool arrive(int thread, const Stop& stop) {
    running_warp().stops[static_cast<std::size_t>(thread % kWarpLanes)] = stop;
    if (++stopped_lanes_ < kWarpLanes) return false;
    end_phase();
    return true;
  }

  /// Lets others run, and returns when the thread's warp has met. Throws as arrive() does.
  void proceed(int thread) {
    const int next = next_thread();
    if (next != thread) fibers_.switch_to(next);
    if (abandoned_) [[unlikely]]
      throw BlockAbandoned{};
  }

 private:
  struct BlockAbandoned {};
  struct Warp {
    std::array<Stop, kWarpLanes> stops;  // by lane
    std::array<std::array<std::uint32_t, kWarpLanes>, 2> exchange;
    std::uint64_t phases = 0;
  };

  Warp& running_warp() { return warps_[static_cast<std::size_t>(warp_)]; }
  AsyncProducts& running_products() { return products_[static_cast<std::size_t>(warp_)]; }
  std::uint32_t warp_bit() const { return 1u << warp_; }
  int next_thread() {
    if (stopped_lanes_ == kWarpLanes) return begin_phase();
    return warp_ * kWarpLanes + (stopped_lanes_ ^ lane_mask_);
  }

  void thread_main(int thread);
  void run_kernel(int thread);
  int begin_phase();
  void end_phase();
  void meet_at_barrier();
  /// Abandons the block where two warps wait at barriers that may not be one.
  void expect_same_barrier(int warp, int other_warp);
  void wait_for_team();
  void come_to_named_barrier(bool waits);
  void wait_at_mbarrier();
  PhaseBarrier& mbarrier_at(int thread, Mbarrier* barrier, const CallSite& site);
  void end_phase_if_complete(PhaseBarrier& barrier);
  void end_copy(bool is_last);
  std::uint32_t team_of(int warp) const;
  int next_unfinished() const;

  [[noreturn]] void abandon();
  [[noreturn]] void abandon_divergent_warp();
  [[noreturn]] void abandon_missed_barrier();
  [[noreturn]] void abandon_missed_named_barrier(std::size_t id);
  [[noreturn]] void abandon_missed_phase(const PhaseBarrier& barrier);
  [[noreturn]] void abandon_misused_barrier(const std::string& how);

  const EmulationOptions& options_;
  const EmulatedKernel& kernel_;
  FindingLog findings_;
  BlockMemory memory_;
  Counters counters_;
  LaneCalls lane_calls_;
  MmaExchange mma_exchange_;

  std::array<int, 3> block_{};
  std::function<bool()> earlier_blocks_run_;
  WarpSchedule schedule_;
  std::vector<Warp> warps_;
  std::uint32_t all_warps_;            // a bit per warp, as below
  std::uint32_t ready_warps_ = 0;      // could run
  std::uint32_t waiting_warps_ = 0;    // at a barrier of the block
  std::uint32_t waiting_members_ = 0;  // at one of their team; all others have ended
  NamedBarriers named_barriers_;
  Mbarriers mbarriers_;
  TensorCopies copies_;
  std::vector<AsyncProducts> products_;  // by warp
  int warp_ = 0;                         // runs
  int stopped_lanes_ = 0;                // of that warp
  int lane_mask_ = 0;
  std::vector<bool> finished_;  // by thread
  bool abandoned_ = false;
  std::exception_ptr error_;

  Fibers fibers_;  // last: its stacks unwind first
};

}  // namespace sparkbench
