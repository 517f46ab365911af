// What a timer asks of a GPU besides the kernel that it times. C++17: device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sparkbench {

/// Host memory that a holding kernel watches: a hold has a ticket, larger than those before it.
struct HoldFlag {
  std::uint32_t released = 0;  // by the host: all holds up to this ticket
  std::uint32_t expired = 0;   // by the GPU: the last hold that gave up waiting
};

/// Occupies `stream` until `flag`, as the GPU addresses it, releases `ticket`, or `limit_ns` of
/// %globaltimer have passed; then it says so in the flag.
void enqueue_hold(cudaStream_t stream, HoldFlag* flag, std::uint32_t ticket,
                  std::uint64_t limit_ns);

/// What one SM's counters said at one moment.
struct ClockStamp {
  std::uint64_t cycles;  // %clock64
  std::uint64_t ns;      // %globaltimer
  std::uint32_t is_set;
};

/// Lets SM i, of its `sm_count`, set stamps[i], if a block happens to run there. They must be
/// zeros.
void enqueue_clock_stamps(cudaStream_t stream, ClockStamp* stamps, int sm_count);

/// The smallest step seen of %globaltimer, in *ns. Takes some hundred of them.
void enqueue_timer_step(cudaStream_t stream, std::uint64_t* ns);

/// Whether this build has machine code for the current GPU, or code that its driver can translate.
bool has_code_for_current_gpu();

/// A kernel that does nothing.
void enqueue_empty_kernel(cudaStream_t stream);

}  // namespace sparkbench
