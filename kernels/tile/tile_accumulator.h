// Accumulators in registers, whichever type the MMA's C has.
#pragma once

#include "kernels/tile/fragment.h"

namespace sparkbench {

/// The eight values of a C fragment as floats.
template <class Machine>
SPARK_DEVICE void widen(const Machine& /*machine*/,
                        const AccumulatorFragment<Accumulator::kFp32>& c, float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) value[i] = c.element[i];
}
template <class Machine>
SPARK_DEVICE void widen(Machine& machine, const AccumulatorFragment<Accumulator::kFp16>& c,
                        float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value[2 * i] = machine.low_half(c.pair[i]);
    value[2 * i + 1] = machine.high_half(c.pair[i]);
  }
}

/// o = rescale * o + tile, the elements of both in the order of FP16 accumulators.
template <class Machine>
SPARK_DEVICE void add_tile(Machine& machine, const AccumulatorFragment<Accumulator::kFp16>& tile,
                           float rescale, AccumulatorFragment<Accumulator::kFp32>& o) {
  float value[8];
  widen(machine, tile, value);
#pragma unroll
  for (int i = 0; i < 8; ++i) o.element[i] = machine.fma(o.element[i], rescale, value[i]);
}

}  // namespace sparkbench
