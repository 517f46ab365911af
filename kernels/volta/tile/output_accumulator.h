// O = rescale * O + P V for one tile of keys and one warp of 32 rows, O in registers.
#pragma once

#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {

/// o *= rescale, elements in the order of FP32 accumulators.
template <class Machine, int kColumnGroups>
SPARK_DEVICE void rescale_output(
    Machine& /*machine*/, const float (&rescale)[kRowGroups][2],
    AccumulatorFragment<Accumulator::kFp32> (&o)[kRowGroups][kColumnGroups]) {
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
    for (int group = 0; group < kColumnGroups; ++group) {
#pragma unroll
      for (int i = 0; i < 8; ++i) o[g][group].element[i] *= rescale[g][quartet_of(i)];
    }
  }
}

/// o *= rescale, through FP32 and rounded again.
template <class Machine, int kColumnGroups>
SPARK_DEVICE void rescale_output(
    Machine& machine, const float (&rescale)[kRowGroups][1],
    AccumulatorFragment<Accumulator::kFp16> (&o)[kRowGroups][kColumnGroups]) {
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
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

/// FP32-ACC: the products go straight into o. FP16-ACC: one tile of keys is summed in FP16, in the
/// order of whose accumulators o's elements are, and added to o, so that rounding to FP16 never
/// compounds over the key loop; kTileGroups column groups at a time, since registers are few.
template <int kTileGroups, Accumulator kAccumulator, class Machine, int kKeys, class BTile,
          int kColumnGroups>
SPARK_DEVICE void accumulate_output(
    Machine& machine, ProbabilityTile<kKeys>* const (&p)[kRowGroups], BTile& v,
    const float (&rescale)[kRowGroups][GridLayout<kAccumulator>::kRowsPerLane],
    AccumulatorFragment<Accumulator::kFp32> (&o)[kRowGroups][kColumnGroups]) {
  if constexpr (kAccumulator == Accumulator::kFp32) {
    rescale_output(machine, rescale, o);
    matmul_probabilities<kAccumulator>(machine, p, v, 0, o);
  } else {
#pragma unroll
    for (int first = 0; first < kColumnGroups; first += kTileGroups) {
      // The compiler would keep P in registers from one slice to the next, and spill O.
      if (first != 0) machine.sync_warp();
      AccumulatorFragment<kAccumulator> tile[kRowGroups][kTileGroups] = {};
      matmul_probabilities<kAccumulator>(machine, p, v, first / 2, tile);
#pragma unroll
      for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
        for (int group = 0; group < kTileGroups; ++group) {
          add_tile(machine, tile[g][group], rescale[g][0], o[g][first + group]);
        }
      }
    }
  }
}

/// FP16-ACC throughout: o is the accumulator of every tile. It is rescaled through FP32 and rounded
/// again before each, so its error grows with the number of keys.
template <int /*kTileGroups*/, Accumulator kAccumulator, class Machine, int kKeys, class BTile,
          int kColumnGroups>
SPARK_DEVICE void accumulate_output(
    Machine& machine, ProbabilityTile<kKeys>* const (&p)[kRowGroups], BTile& v,
    const float (&rescale)[kRowGroups][GridLayout<kAccumulator>::kRowsPerLane],
    AccumulatorFragment<Accumulator::kFp16> (&o)[kRowGroups][kColumnGroups]) {
  rescale_output(machine, rescale, o);
  matmul_probabilities<kAccumulator>(machine, p, v, 0, o);
}

}  // namespace sparkbench
