// One lane's fragments of the operands of mma.m16n8k16 with .f16 (PTX ISA, "Matrix Fragments for
// mma.m16n8k16 with floating point type"). One warp instruction is one 16x8x16 product. With
// group = lane / 4 and pair = lane % 4, element i of a fragment is
//
//   fragment          elements   row                      column
//   A row-major       i = 0..7   group (+8 if i & 2)      2 pair + (i & 1) (+8 if i & 4)
//   B column-major    i = 0..3   2 pair + (i & 1)         group
//                                (+8 if i & 2)
//   C, D (any type)   i = 0..3   group (+8 if i & 2)      2 pair + (i & 1)
#pragma once

#include <cstdint>

#include "kernels/base/accumulator.h"
#include "kernels/base/host_device.h"
#include "kernels/machine/mma/operand.h"

namespace sparkbench::m16n8k16 {

inline constexpr int kM = 16, kN = 8, kK = 16;

/// Elements 2r (low half) and 2r + 1 (high half) in pair[r].
struct FragmentA {
  std::uint32_t pair[4];
};
struct FragmentB {
  std::uint32_t pair[2];
};

/// C or D.
template <Accumulator kAccumulator>
struct FragmentC;

template <>
struct FragmentC<Accumulator::kFp32> {
  float element[4];
};

template <>
struct FragmentC<Accumulator::kFp16> {
  std::uint32_t pair[2];
};

SPARK_HD int a_row(int lane, int i) { return (lane >> 2) + ((i & 2) << 2); }
SPARK_HD int a_column(int lane, int i) { return 2 * (lane & 3) + (i & 1) + ((i & 4) << 1); }
SPARK_HD int b_row(int lane, int i) { return 2 * (lane & 3) + (i & 1) + ((i & 2) << 2); }
SPARK_HD int b_column(int lane) { return lane >> 2; }
SPARK_HD int c_row(int lane, int i) { return (lane >> 2) + ((i & 2) << 2); }
SPARK_HD int c_column(int lane, int i) { return 2 * (lane & 3) + (i & 1); }

}  // namespace sparkbench::m16n8k16
