// Sixteen rows of products of 16 terms, c += a b in fp32, in the host's vector instructions: what a
// warp computes of m16n8k16 and of wgmma, several columns at a time.
//
// It is the truncated fused dot product of block_dot.h, as tile_mma.h computes it: in floats that
// are exact at every step, and an integer sum. Rows that this cannot do (infinities, NaN, very
// small c, sums of more than 31 bits) come from the definition.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

namespace sparkbench {

inline constexpr int kMmaRows = 16, kMmaTerms = 16, kMaxMmaColumns = 256;

struct alignas(64) RowsOperands {
  Half a[kMmaRows][kMmaTerms];        // [row][k]
  Half b[kMmaTerms][kMaxMmaColumns];  // [k][column]
};

struct alignas(64) RowsAccumulator {
  float value[kMmaRows][kMaxMmaColumns];  // [row][column]
};

inline std::array<Half, kMmaTerms> column_of(const RowsOperands& operands, int column) {
  std::array<Half, kMmaTerms> halves;
  for (std::size_t k = 0; k < halves.size(); ++k) halves[k] = operands.b[k][column];
  return halves;
}

/// c += a b in the first `columns` columns, a multiple of 8. The profile is a tensor core's.
void multiply_rows(const ArithmeticProfile& profile, const RowsOperands& operands, int columns,
                   RowsAccumulator& c);

}  // namespace sparkbench
