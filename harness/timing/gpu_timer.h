// Times kernels on a GPU with CUDA events. One sample:
//   1. flush the L2 cache, by writing twice its size
//   2. hold the stream until all that follows is queued (gpu_hold.h)
//   3. clock stamp, start event, the kernel, stop event, clock stamp (gpu_clock.h)
//   4. release the stream, and wait for it
//   5. rest, for the duty cycle (alternation.h)
// The naive way, a host clock around the launch, measures the launch.
//   Caveats: clocks are what the card's governor makes of the load: read, not locked. A kernel that
//   cannot be held is timed without, and the timing says so. From the end of one kernel to the
//   start of the next a GPU takes 1.3 to 1.7 us (H200), and which it is depends on the stream and
//   differs from process to process: all is timed on one stream, and a chain of many short kernels
//   is still repeatable within a few percent only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/timing/gpu_clock.h"
#include "harness/timing/gpu_hold.h"
#include "harness/timing/timing.h"
#include "reference/cublas/unfused_part.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// Enqueues the work to time.
using Launch = std::function<void()>;

/// Enqueues a pass, and tells of each part when that has been enqueued.
using LaunchInParts = std::function<void(const AfterPart&)>;

class GpuTimer {
 public:
  /// Of the current GPU. Allocates twice the L2 cache, to flush it with.
  GpuTimer(std::size_t l2_bytes, int sm_count);

  /// Where the launches must enqueue.
  const CudaStream& stream() const { return stream_; }

  /// Warms each launch up, then samples them in turns (alternation.h).
  std::vector<Timing> time(std::span<const Launch> launches, const TimingOptions& options);

  /// The median time of each part of a pass, between events, over several passes; and the bandwidth
  /// of a copy, where there is memory for one. Shares of the device's peak are left to the caller.
  PassParts time_parts(const LaunchInParts& launch, const TimingOptions& options);

 private:
  struct Timed {
    const Launch& launch;
    bool is_held;
  };

  void warm_up(const Launch& launch, double warmup_ms) const;
  /// Nothing when a guard ended the hold.
  std::optional<TimedSample> try_sample(const Timed& timed, bool flushes_l2);
  /// What cannot be held, in several attempts, is sampled without, from then on.
  TimedSample sample(Timed& timed, bool flushes_l2);
  double time_empty_kernel(const TimingOptions& options);
  std::optional<double> measure_copy_gbps();

  CudaStream stream_;
  DeviceBuffer flush_;
  GpuClock clock_;
  GpuHoldFlag hold_flag_;
  CudaEvent start_, stop_;
};

}  // namespace sparkbench
