// The least time in which a V100 could do what a kernel counted on the emulated machine, and so the
// most TFLOP/s: a bound, which no launch reaches, and never a prediction or a time.
//
// Each resource is taken alone, always busy, its work spread evenly over 80 SMs at 1530 MHz (SXM2
// boost clock); the slowest one binds. Per SM and clock (NVIDIA, Volta white paper and CUDA
// programming guide, throughput of native instructions):
//   tensor  m8n8k4 holds its sub-partition's port for 8 cycles, and so does widening a half
//           (HADD2.F32, on the same port) for 2
//   issue   4 instructions; m8n8k4 is 4 of them with an FP32 accumulator, 2 with an FP16 one
//   LSU     one wavefront of 128 bytes: shared memory with its conflicts, shuffles, global memory
//   XU      16 lanes of MUFU and F2F, so 8 cycles of a sub-partition an instruction
// and of the whole chip:
//   L2      2155 GB/s of global sectors (Jia et al., arXiv 1804.06826), none of which L1 keeps
//   HBM     900 GB/s of the compulsory bytes, L2 catching whatever is read again
// Arithmetic that C++ spells itself is not counted, so issue is at least what is said here.
#pragma once

#include <cstdint>

#include "kernels/machine/emulated/report/counters.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// `counters` are the whole pass's, `flops` its useful work, `bytes` its compulsory traffic
/// (sweeps/work.h). At least one of the counts or `bytes` is not 0.
Bound volta_bound(const Counters& counters, std::uint64_t flops, std::uint64_t bytes);

}  // namespace sparkbench
