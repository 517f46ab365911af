// Times kernels on a GPU with CUDA events. One sample:
//   1. write other inputs, and NaNs over the outputs (devices/timed_check.h)
//   2. flush the L2 cache by writing twice its size
//   3. hold the stream, and every SM, until everything below is queued (gpu_hold.h)
//   4. clock stamp, start event, the kernel, stop event, clock stamp (gpu_clock.h)
//   5. compare the outputs with the verified ones
//   6. release the stream and wait for it
//   7. rest, for the duty cycle (alternation.h)
// The naive way, a host clock around the launch, measures the launch.
//   Caveats: clocks are read and not locked; the card's governor sets them. A kernel that cannot be
//   held is timed without a hold, and the timing says so. The gap from the end of one kernel to the
//   start of the next is 1.3 to 1.7 us (H200); it depends on the stream and differs between
//   processes. So everything is timed on one stream, and a chain of many short kernels is
//   repeatable only within a few percent.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/timing/gpu_clock.h"
#include "harness/timing/gpu_hold.h"
#include "harness/timing/timing.h"
#include "reference/cublas/unfused_part.h"
#include "results/record/case_record.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// Enqueues the work to time.
using Launch = std::function<void()>;

/// Work enqueued around each sample of a launch, and not timed.
struct SampleCheck {
  std::function<void()> before = {};  // before the cache is flushed
  std::function<void()> after = {};   // directly after the launch
  /// Once the stream is done: "" if the sample's outputs are right, else what is wrong.
  std::function<std::string()> difference = {};
};

/// Enqueues a pass and calls back after each part is enqueued.
using LaunchInParts = std::function<void(const AfterPart&)>;

class GpuTimer {
 public:
  /// For the current GPU. Allocates twice the size of the L2 cache, to flush it.
  GpuTimer(std::size_t l2_bytes, int sm_count);

  /// The stream on which launches must enqueue.
  const CudaStream& stream() const { return stream_; }

  /// Warms up each launch, then takes interleaved samples (alternation.h). `checks` are of the
  /// launches in their order; one without functions checks nothing.
  std::vector<Timing> time(std::span<const Launch> launches, const Method& method,
                           std::span<const SampleCheck> checks = {});

  /// The median time of each part of a pass, between events, over several passes; and the bandwidth
  /// of a copy, if there is memory for one. The caller computes shares of the device's peak.
  PassParts time_parts(const LaunchInParts& launch, const Method& method);

 private:
  struct Timed {
    const Launch& launch;
    bool is_held;
    const SampleCheck* check = nullptr;
    int wrong = 0;
    std::string first_wrong = {};
  };

  void warm_up(const Launch& launch, double warmup_ms) const;
  /// Empty if a guard ended the hold.
  std::optional<TimedSample> try_sample(Timed& timed, bool flushes_l2);
  /// A launch that cannot be held in several attempts is sampled without a hold from then on.
  TimedSample sample(Timed& timed, bool flushes_l2);
  double time_empty_kernel(const Method& method);
  std::optional<double> measure_copy_gbps();

  CudaStream stream_;
  DeviceBuffer flush_;
  GpuClock clock_;
  GpuHoldFlag hold_flag_;
  CudaEvent start_, stop_;
};

}  // namespace sparkbench
