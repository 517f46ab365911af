// Rows of one head of a tensor in fp64, for the exact oracle.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/mask/key_mask.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// One row, widened.
std::vector<double> widen(std::span<const Half> row);

/// Some rows of the matrix M [seqlen, head_dim] of one head, widened and stored in both orders, so
/// that the innermost loop of either product reads contiguous memory.
class WideHead {
 public:
  /// `rows` is inside the sequence and may be empty.
  WideHead(const HostTensor& tensor, const TensorShape& shape, int batch, int head,
           const Range& rows);

  /// dots[i] = x . M[first + i]; these rows must be stored.
  void dot_rows(std::span<const double> x, int first, std::span<double> dots) const;

  /// sum += sum over i of weights[i] * M[first + i]; these rows must be stored.
  void add_rows(std::span<const double> weights, int first, std::span<double> sum) const;

 private:
  /// Index of a row of M in the stored rows.
  std::size_t index_of(int row) const { return static_cast<std::size_t>(row - range_.begin); }

  Range range_;
  std::size_t size_;
  std::size_t head_dim_;
  std::vector<double> rows_;     // [size, head_dim]
  std::vector<double> columns_;  // [head_dim, size]
};

}  // namespace sparkbench
