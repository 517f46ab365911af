// D = rowsum(dO * O) of a query, which the backward pass subtracts from dP.
#pragma once

#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// sum + a . b over eight elements each, in ascending order.
template <class Element, class Machine>
SPARK_DEVICE float dot_chunk(Machine& machine, const Bits128& a, const Bits128& b, float sum) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = machine.fma(machine.template low_half<Element>(a.word[i]),
                      machine.template low_half<Element>(b.word[i]), sum);
    sum = machine.fma(machine.template high_half<Element>(a.word[i]),
                      machine.template high_half<Element>(b.word[i]), sum);
  }
  return sum;
}

/// rowsum(d_o * o) of a row of `chunks` chunks, in FP32, its eight lanes each with part of it. Lane
/// 8n + i has chunks i, i + 8, ...
template <class Element, class Machine>
SPARK_DEVICE float row_dot(Machine& machine, const Bits16* o, const Bits16* d_o, int chunks) {
  float sum = 0.0f;
  for (int chunk = machine.lane() % 8; chunk < chunks; chunk += 8) {
    sum = dot_chunk<Element>(machine, machine.template load_global<Bits128>(o + 8 * chunk),
                             machine.template load_global<Bits128>(d_o + 8 * chunk), sum);
  }
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += machine.shuffle_xor(sum, distance);
  return sum;
}

}  // namespace sparkbench
