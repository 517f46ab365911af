// One head of a tensor in fp64, for the exact references.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/half.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// One row, widened.
std::vector<double> widen(std::span<const Half> row);

/// The matrix M [seqlen, head_dim] of one head, widened and kept in both orders, so that the
/// innermost loop of either product runs over contiguous memory.
class WideHead {
 public:
  WideHead(const HostTensor& tensor, const TensorShape& shape, int batch, int head);

  /// dots[i] = x . M[first + i]
  void dot_rows(std::span<const double> x, int first, std::span<double> dots) const;

  /// sum += sum over i of weights[i] * M[first + i]
  void add_rows(std::span<const double> weights, int first, std::span<double> sum) const;

 private:
  std::size_t seqlen_;
  std::size_t head_dim_;
  std::vector<double> rows_;     // [seqlen, head_dim]
  std::vector<double> columns_;  // [head_dim, seqlen]
};

}  // namespace sparkbench
