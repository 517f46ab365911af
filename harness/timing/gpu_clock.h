// The clock of the SMs while something ran, without root and without NVML: their cycle counters
// before and after over the GPU's nanosecond timer.
#pragma once

#include <optional>

#include "harness/timing/gpu_timing_kernels.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

class GpuClock {
 public:
  /// Finds out how coarse the timer is: 32 ns on some GPUs, a microsecond on others.
  explicit GpuClock(int sm_count);

  double timer_step_ns() const { return timer_step_ns_; }

  /// All enqueue work on the stream: reset() before a pair of start() and stop().
  void reset(const CudaStream& stream);
  void start(const CudaStream& stream);
  void stop(const CudaStream& stream);

  /// Of the last pair, once the stream is done: cycles over time, the median of all SMs. Nothing
  /// when the time is too short for the timer to tell it within 5 %.
  std::optional<double> mhz() const;

 private:
  int sm_count_;
  DeviceBuffer stamps_;  // of [start, stop][sm_count]
  double timer_step_ns_;
};

}  // namespace sparkbench
