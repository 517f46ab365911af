// D = rowsum(dO * O) of a query, which the backward pass subtracts from dP.
#pragma once

#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// sum + a . b over eight halves each, in ascending order.
template <class Machine>
SPARK_DEVICE float dot_halves(Machine& machine, const Bits128& a, const Bits128& b, float sum) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = machine.fma(machine.low_half(a.word[i]), machine.low_half(b.word[i]), sum);
    sum = machine.fma(machine.high_half(a.word[i]), machine.high_half(b.word[i]), sum);
  }
  return sum;
}

/// rowsum(d_o * o) of a row of `chunks` chunks, in FP32, its eight lanes each with part of it. Lane
/// 8n + i has chunks i, i + 8, ...
template <class Machine>
SPARK_DEVICE float row_dot(Machine& machine, const Half* o, const Half* d_o, int chunks) {
  float sum = 0.0f;
  for (int chunk = machine.lane() % 8; chunk < chunks; chunk += 8) {
    sum = dot_halves(machine, machine.template load_global<Bits128>(o + 8 * chunk),
                     machine.template load_global<Bits128>(d_o + 8 * chunk), sum);
  }
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += machine.shuffle_xor(sum, distance);
  return sum;
}

}  // namespace sparkbench
