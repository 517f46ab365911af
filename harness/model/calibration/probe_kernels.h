// What `predict --calibrate` runs on a GPU: loops whose cycles tell what is not published of its
// SMs. C++17: device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sparkbench {

/// What a warp's counters said around its loop.
struct ProbeSpan {
  std::uint64_t begin_cycles, end_cycles;  // %clock64
  std::uint64_t begin_ns, end_ns;          // %globaltimer
  std::uint32_t sm;
};

/// One block on every SM, of this many warps on each of an SM's four schedulers.
struct ProbeLaunch {
  int blocks;
  int warps_per_scheduler;  // 1 or 2
  int iterations;
  ProbeSpan* spans;             // [blocks][4 * warps_per_scheduler]
  const std::uint32_t* values;  // kProbeValues, which the code cannot know
  std::uint32_t* sink;          // [blocks][threads]
};
inline constexpr int kProbeValues = 64;
inline constexpr int kSchedulersPerSm = 4;

/// Each product of a loop has an A and a B of its own, or all have the same A.
enum class ProbeOperands { kFresh, kReused };

/// Products of independent accumulators in a loop that fits into every instruction cache: m8n8k4
/// before sm_75, m16n8k8 there, m16n8k16 from sm_80 on, all with FP32 accumulators.
inline constexpr int kProbeProducts = 128;  // an iteration
void enqueue_product_probe(cudaStream_t stream, ProbeOperands operands, const ProbeLaunch& launch);

/// Bytes of straight-line code, of 16-byte instructions that a warp can issue one a clock: FFMA and
/// LOP3 by turns.
inline constexpr int kProbeInstructionBytes = 16;
inline constexpr int kCodeKib[] = {4, 8, 16, 32, 48, 64, 128};

/// Runs the loop of kCodeKib[size]. `is_own` gives the second warp of each scheduler a copy of the
/// code of its own.
void enqueue_code_probe(cudaStream_t stream, int size, bool is_own, const ProbeLaunch& launch);

}  // namespace sparkbench
