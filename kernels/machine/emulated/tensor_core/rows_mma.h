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

/// Elements of any type.
struct alignas(64) RowsOperands {
  Bits16 a[kMmaRows][kMmaTerms];        // [row][k]
  Bits16 b[kMmaTerms][kMaxMmaColumns];  // [k][column]
};

struct alignas(64) RowsAccumulator {
  float value[kMmaRows][kMaxMmaColumns];  // [row][column]
};

template <class Element>
std::array<Element, kMmaTerms> row_of(const RowsOperands& operands, int row) {
  std::array<Element, kMmaTerms> elements;
  for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = {operands.a[row][k]};
  return elements;
}
template <class Element>
std::array<Element, kMmaTerms> column_of(const RowsOperands& operands, int column) {
  std::array<Element, kMmaTerms> elements;
  for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = {operands.b[k][column]};
  return elements;
}

/// c += a b in the first `columns` columns, a multiple of 8. Element is the operands'
/// type: Half.
/// The profile is a tensor core's.
template <class Element>
void multiply_rows(const ArithmeticProfile& profile, const RowsOperands& operands, int columns,
                   RowsAccumulator& c);
using MultiplyRows = decltype(multiply_rows<Half>);

}  // namespace sparkbench
