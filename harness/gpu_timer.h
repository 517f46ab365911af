// Times a kernel on a GPU with CUDA events.
//   The naive way, a host clock around the launch, measures the launch. The way here: samples are
//   queued in batches, so that the stream never runs dry and the launch latency hides behind the L2
//   flush that precedes each sample and lies outside its interval.
//   Caveats: clocks are what the card's governor makes of the load; they are not locked here.
#pragma once

#include <functional>

#include "harness/device.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

class GpuTimer {
 public:
  /// Allocates twice the L2 cache, to flush it with.
  explicit GpuTimer(std::size_t l2_bytes);

  std::size_t flush_bytes() const { return flush_.bytes(); }

  /// `launch` enqueues the work to time on `stream`. Warms up, then samples until the noise is low
  /// enough or the time is up, and says which.
  Timing time(const CudaStream& stream, const std::function<void()>& launch,
              const TimingOptions& options);

 private:
  void warm_up(const CudaStream& stream, const std::function<void()>& launch, double warmup_ms);
  void sample_batch(const CudaStream& stream, const std::function<void()>& launch, bool flushes_l2,
                    std::vector<double>& samples_ms);

  DeviceBuffer flush_;
};

}  // namespace sparkbench
