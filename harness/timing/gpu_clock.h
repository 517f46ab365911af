// The SM clock during a kernel, without root and NVML: the SMs' cycle counters before and after,
// over the GPU's nanosecond timer.
#pragma once

#include <optional>

#include "harness/timing/gpu_timing_kernels.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

class GpuClock {
 public:
  /// Measures the resolution of the timer: 32 ns on some GPUs, a microsecond on others.
  explicit GpuClock(int sm_count);

  /// All enqueue work on the stream: reset() before a pair of start() and stop().
  void reset(const CudaStream& stream);
  void start(const CudaStream& stream);
  void stop(const CudaStream& stream);

  /// For the last pair, once the stream is done: cycles over time, the median over all SMs. Empty
  /// if the time is too short for the timer to give the clock within 5 %.
  std::optional<double> mhz() const;

 private:
  int sm_count_;
  DeviceBuffer stamps_;  // [start, stop][sm_count]
  double timer_step_ns_;
};

}  // namespace sparkbench
