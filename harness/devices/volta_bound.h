// The least time in which a V100 could do what a kernel counted on the emulated machine, and so its
// highest TFLOP/s. This is a bound that no launch reaches, never a prediction or a time.
//
// Each resource is considered separately, always busy, with its work spread evenly over 80 SMs at
// 1530 MHz (SXM2 boost clock); the slowest one binds. Per SM and clock (NVIDIA, Volta white paper
// and CUDA programming guide, throughput of native instructions):
//   tensor  m8n8k4 occupies its sub-partition's port for 8 cycles; widening a half (HADD2.F32, on
//           the same port) for 2
//   issue   4 instructions; m8n8k4 is 4 of them with an FP32 accumulator, 2 with an FP16 one
//   LSU     one wavefront of 128 bytes: shared memory with its conflicts, shuffles, global memory
//   XU      16 lanes of MUFU and F2F, so 8 cycles of a sub-partition per instruction
// and for the whole chip:
//   L2      2155 GB/s of global sectors (Jia et al., arXiv 1804.06826), assuming that L1 keeps none
//   HBM     900 GB/s of the compulsory bytes, assuming that L2 serves every repeated read
// Plain C++ arithmetic is not counted, so the real issue time is longer.
#pragma once

#include <cstdint>

#include "kernels/machine/emulated/report/counters.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// `counters` are the whole pass's, `flops` its useful work, `bytes` its compulsory traffic
/// (sweeps/work.h). At least one of the counts or `bytes` must not be 0.
Bound volta_bound(const Counters& counters, std::uint64_t flops, std::uint64_t bytes);

}  // namespace sparkbench
