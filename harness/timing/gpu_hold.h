// Keeps a stream waiting until everything of a sample is queued behind it.
//   Purpose: the time between two events then is the GPU's alone; without it a kernel shorter than
//   its own launch is timed as long as the launch.
//   Caveats: what is queued meanwhile must not wait for the stream, and must fit into its queue
//   (about a thousand launches), or the host blocks with the stream that waits for it. Two guards
//   end that, each by itself: the GPU stops holding when its own timer says so, and a thread of the
//   host releases the stream. The sample is then worthless; was_kept() says so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "harness/timing/gpu_timing_kernels.h"
#include "harness/timing/watchdog.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

/// How long a hold may last before a guard ends it.
struct HoldLimits {
  std::chrono::nanoseconds host = std::chrono::milliseconds(500);
  std::chrono::nanoseconds gpu = std::chrono::seconds(2);
};

/// The flags of holds that follow each other.
class GpuHoldFlag {
 public:
  GpuHoldFlag();

  std::uint32_t next_ticket() { return ++ticket_; }
  HoldFlag* on_gpu() const;
  void release(std::uint32_t ticket);
  bool has_expired(std::uint32_t ticket) const;

 private:
  struct Free {
    void operator()(HoldFlag* flag) const { cudaFreeHost(flag); }
  };
  std::unique_ptr<HoldFlag, Free> flag_;
  std::uint32_t ticket_ = 0;
};

/// One hold, from its construction to release() or its destruction.
class GpuHold {
 public:
  GpuHold(const CudaStream& stream, GpuHoldFlag& flag, const HoldLimits& limits = {});
  ~GpuHold() { release(); }
  GpuHold(const GpuHold&) = delete;
  GpuHold& operator=(const GpuHold&) = delete;

  void release();

  /// Whether neither guard ended it before release(). To be asked once the stream is done.
  bool was_kept() const;

 private:
  GpuHoldFlag& flag_;
  std::uint32_t ticket_;
  std::atomic<bool> was_ended_by_host_ = false;
  std::optional<Watchdog> watchdog_;
};

}  // namespace sparkbench
