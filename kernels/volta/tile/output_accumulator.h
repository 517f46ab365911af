// O = rescale * O for a warp's groups of 16 rows, O in registers.
#pragma once

#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {

/// o *= rescale, elements in the order of FP32 accumulators.
template <class Machine, int kGroups, int kColumnGroups>
SPARK_DEVICE void rescale_output(
    Machine& /*machine*/, const float (&rescale)[kGroups][2],
    AccumulatorFragment<Accumulator::kFp32> (&o)[kGroups][kColumnGroups]) {
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
      for (int i = 0; i < 8; ++i) o[g][group].element[i] *= rescale[g][quartet_of(i)];
    }
  }
}

/// o *= rescale, through FP32 and rounded again.
template <class Machine, int kGroups, int kColumnGroups>
SPARK_DEVICE void rescale_output(
    Machine& machine, const float (&rescale)[kGroups][1],
    AccumulatorFragment<Accumulator::kFp16> (&o)[kGroups][kColumnGroups]) {
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
      for (std::uint32_t& pair : o[g][group].pair) {
        pair = machine.pack_halves(machine.low_half(pair) * rescale[g][0],
                                   machine.high_half(pair) * rescale[g][0]);
      }
    }
  }
}

}  // namespace sparkbench
