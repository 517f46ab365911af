// The fragments of a warp's mma, by lane, until the last lane has arrived and multiplies for all.
#pragma once

#include <array>

#include "kernels/machine/emulated/tensor_core/warp_mma_m16n8k16.h"
#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"
#include "kernels/machine/emulated/tensor_core/warp_wgmma.h"

namespace sparkbench {

inline constexpr int kMaxMmaFragments = 64;  // of each operand of m8n8k4, all steps together

/// The operands in the format of OuterOperands.
struct M8n8k4Exchange {
  std::array<WarpOperands, kMaxMmaFragments> a, b;
  std::array<AccumulatorFragment<Accumulator::kFp32>*, kMaxOuterFragments * 32> c_fp32;
  std::array<AccumulatorFragment<Accumulator::kFp16>*, kMaxOuterFragments * 32> c_fp16;
};

/// The lanes' own arrays, which stay while they wait.
struct M16n8k16Exchange {
  std::array<const m16n8k16::FragmentA*, 32> a;                            // [steps][m]
  std::array<const m16n8k16::FragmentB*, 32> b;                            // [steps][n]
  std::array<m16n8k16::FragmentC<Accumulator::kFp32>* const*, 32> c_fp32;  // [m] of [n]
  std::array<m16n8k16::FragmentC<Accumulator::kFp16>* const*, 32> c_fp16;
};

struct WgmmaExchange {
  std::array<m16n8k16::FragmentA, 32> a;  // unless A is in shared memory
  WarpAccumulators c;
};

struct MmaExchange {
  M8n8k4Exchange m8n8k4;
  M16n8k16Exchange m16n8k16;
  WgmmaExchange wgmma;
};

/// The accumulators of this type.
template <Accumulator kAccumulator, class Exchange>
auto& accumulators_of(Exchange& exchange) {
  if constexpr (kAccumulator == Accumulator::kFp32) {
    return exchange.c_fp32;
  } else {
    return exchange.c_fp16;
  }
}

}  // namespace sparkbench
