// Blocks a stream until everything of a sample is queued.
//   Purpose: the time between two events is then only the GPU's. Without a hold, a kernel shorter
//   than its own launch seems to take as long as the launch.
//   It fills the SMs, so that a kernel cannot begin early on another stream.
//   Caveats: the work queued meanwhile must not wait for the stream and must fit into its queue
//   (about a thousand launches); otherwise host and stream wait for each other. Two independent
//   guards end that: the GPU stops holding after a limit of its own timer, and a host thread
//   releases the stream. The sample is then unusable, and was_kept() returns false.
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

/// The flags that consecutive holds use.
class GpuHoldFlag {
 public:
  GpuHoldFlag();

  std::uint32_t next_ticket() { return ++ticket_; }
  HoldFlag* on_gpu() const;
  std::uint32_t* done_on_gpu() const { return done_.as<std::uint32_t>(); }
  void release(std::uint32_t ticket);
  bool has_expired(std::uint32_t ticket) const;

 private:
  struct Free {
    void operator()(HoldFlag* flag) const { cudaFreeHost(flag); }
  };
  std::unique_ptr<HoldFlag, Free> flag_;
  DeviceBuffer done_;
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

  /// Whether neither guard ended it before release(). Call it once the stream is done.
  bool was_kept() const;

 private:
  GpuHoldFlag& flag_;
  std::uint32_t ticket_;
  std::atomic<bool> was_ended_by_host_ = false;
  std::optional<Watchdog> watchdog_;
};

}  // namespace sparkbench
