// The row-wise kernels around the backward products: D = rowsum(dO * O) before them, and dQ from
// its fp32 sums to fp16 after them. Eight lanes a row, 16 rows of one head a block.
#pragma once

#include <cstring>

#include "kernels/machine/machine.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

inline constexpr int kRowLanes = 8;
inline constexpr int kRowThreads = 128;
inline constexpr int kRowsPerBlock = kRowThreads / kRowLanes;

/// A row of [batch, seqlen_q, heads, head_dim], and this lane's place among its eight.
struct RowShare {
  bool is_inside;
  int part;
  std::size_t first_half;  // of the row
  std::size_t row_index;   // in [batch, heads, seqlen_q]
};

template <int kHeadDim, class Machine>
SPARK_DEVICE RowShare locate_row(const Machine& machine, const BackwardParams& params) {
  const int row = machine.block(0) * kRowsPerBlock + machine.thread() / kRowLanes;
  const int head = machine.block(1), batch = machine.block(2);
  return {row < params.mask.seqlen_q, machine.thread() % kRowLanes,
          row_offset(batch, row, head, params.mask.seqlen_q, params.heads, kHeadDim),
          lse_offset(batch, head, row, params.heads, params.mask.seqlen_q)};
}

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

/// delta = rowsum(d_o * o), in fp32.
template <int kHeadDim, class Machine>
SPARK_DEVICE void attention_backward_delta(Machine& machine, const BackwardParams& params) {
  const RowShare share = locate_row<kHeadDim>(machine, params);
  float sum = 0.0f;
#pragma unroll
  for (int column = 8 * share.part; column < kHeadDim; column += 8 * kRowLanes) {
    if (!share.is_inside) continue;
    const std::size_t at = share.first_half + static_cast<std::size_t>(column);
    sum = dot_halves(machine, machine.template load_global<Bits128>(params.tensors.o + at),
                     machine.template load_global<Bits128>(params.tensors.d_o + at), sum);
  }
#pragma unroll
  for (int distance = kRowLanes / 2; distance > 0; distance /= 2) {
    sum += machine.shuffle_xor(sum, distance);
  }
  if (share.is_inside && share.part == 0) {
    machine.store_global(params.workspace.delta + share.row_index, sum);
  }
}

/// dq = fp16(scale * dq_sum).
template <int kHeadDim, class Machine>
SPARK_DEVICE void round_dq(Machine& machine, const BackwardParams& params) {
  const RowShare share = locate_row<kHeadDim>(machine, params);
#pragma unroll
  for (int column = 8 * share.part; column < kHeadDim; column += 8 * kRowLanes) {
    if (!share.is_inside) continue;
    const std::size_t at = share.first_half + static_cast<std::size_t>(column);
    Bits128 halves;
#pragma unroll
    for (int quarter = 0; quarter < 2; ++quarter) {
      const auto sums =
          machine.template load_global<Bits128>(params.workspace.dq_sum + at + 4 * quarter);
      float value[4];
      memcpy(value, &sums, sizeof value);
      for (float& element : value) element *= params.scale;
      halves.word[2 * quarter] = machine.pack_halves(value[0], value[1]);
      halves.word[2 * quarter + 1] = machine.pack_halves(value[2], value[3]);
    }
    machine.store_global(params.tensors.dq + at, halves);
  }
}

}  // namespace sparkbench::volta
