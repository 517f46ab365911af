// One lane's fragments of the operands of mma.m8n8k4 (PTX ISA, "Matrix Fragments for mma.m8n8k4
// with .f16"). One warp instruction is four independent 8x8x4 products, one per quad-pair:
//   quad-pair p = (lane >> 2) & 3 holds lanes 4p..4p+3 ("low") and 4p+16..4p+19 ("high").
//
//   fragment        row                               column
//   A row-major     lane%4 (+4 if high)               i = 0..3
//   A column-major  i%4 (+4 if high)                  lane%4
//   B row-major     lane%4                            i (+4 if high)
//   B column-major  i = 0..3                          lane%4 (+4 if high)
//   C, D of fp16    lane%4 (+4 if high)               i = 0..7
//   C, D of fp32    (lane&1) + (i&2) (+4 if high)     (i&4) + (lane&2) + (i&1)
#pragma once

#include <cstdint>

#include "kernels/base/accumulator.h"
#include "kernels/base/host_device.h"
#include "kernels/machine/mma/operand.h"

namespace sparkbench {

/// Four halves of A or B, the lower index in the lower half of a pair.
struct OperandFragment {
  std::uint32_t pair[2];
};

/// Eight elements of C or D.
template <Accumulator kAccumulator>
struct AccumulatorFragment;

template <>
struct AccumulatorFragment<Accumulator::kFp32> {
  float element[8];
};

template <>
struct AccumulatorFragment<Accumulator::kFp16> {
  std::uint32_t pair[4];  // elements 2i (low half) and 2i+1 (high half)
};

SPARK_HD int quad_pair(int lane) { return (lane >> 2) & 3; }

/// The row of an 8-row tile that this lane holds of A (row-major) and of fp16 C; and the column of
/// B (column-major).
SPARK_HD int owned_row(int lane) { return (lane & 3) + ((lane & 16) >> 2); }

/// Row and column of element i of an fp32 C or D fragment.
SPARK_HD int fp32_row(int lane, int i) { return (lane & 1) + (i & 2) + ((lane & 16) >> 2); }
SPARK_HD int fp32_column(int lane, int i) { return (i & 4) + (lane & 2) + (i & 1); }

}  // namespace sparkbench
