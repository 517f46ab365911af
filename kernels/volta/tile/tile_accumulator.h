// Accumulators in registers, whichever type the MMA's C has.
#pragma once

#include "kernels/machine/mma/m8n8k4.h"

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

/// is_first ? a : b, in registers: a fragment indexed at run time would be in local memory.
template <Accumulator kAccumulator>
SPARK_DEVICE AccumulatorFragment<kAccumulator> select(bool is_first,
                                                      const AccumulatorFragment<kAccumulator>& a,
                                                      const AccumulatorFragment<kAccumulator>& b) {
  AccumulatorFragment<kAccumulator> chosen;
  if constexpr (kAccumulator == Accumulator::kFp32) {
#pragma unroll
    for (int i = 0; i < 8; ++i) chosen.element[i] = is_first ? a.element[i] : b.element[i];
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) chosen.pair[i] = is_first ? a.pair[i] : b.pair[i];
  }
  return chosen;
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
