// Kernels that a timer needs in addition to the timed one. C++17, because device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sparkbench {

/// Host memory that a hold's kernel polls. Each hold has a ticket, larger than all earlier ones.
struct HoldFlag {
  std::uint32_t released = 0;  // by the host: all holds up to this ticket
  std::uint32_t expired = 0;   // by the GPU: the last hold that timed out
};

/// Occupies `stream` until `flag` (a device address) releases `ticket`, or until `limit_ns` of
/// %globaltimer have passed; the kernel then sets `expired` in the flag. It takes every thread that
/// the SMs have, so that no kernel of another stream runs meanwhile. `done` is a word of device
/// memory, 0 at first, that belongs to the flag.
void enqueue_hold(cudaStream_t stream, HoldFlag* flag, std::uint32_t* done, std::uint32_t ticket,
                  std::uint64_t limit_ns);

/// One SM's counters at one moment.
struct ClockStamp {
  std::uint64_t cycles;  // %clock64
  std::uint64_t ns;      // %globaltimer
  std::uint32_t is_set;
};

/// Each SM i below `sm_count` sets stamps[i], if a block happens to run there. The stamps must be
/// zero before.
void enqueue_clock_stamps(cudaStream_t stream, ClockStamp* stamps, int sm_count);

/// Writes the smallest observed step of %globaltimer to *ns, from some hundred steps.
void enqueue_timer_step(cudaStream_t stream, std::uint64_t* ns);

/// Whether this build has machine code for the current GPU, or PTX that its driver can compile.
bool has_code_for_current_gpu();

/// An empty kernel.
void enqueue_empty_kernel(cudaStream_t stream);

}  // namespace sparkbench
