// Matrices of halves taken out of [batch, seqlen, heads, head_dim] tensors, as operands of
// tensor_core_matmul.
#pragma once

#include <algorithm>
#include <span>

#include "reference/tensors/tensor_rows.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The asked rows, [rows, head_dim].
template <class Row>
HalfMatrix rows_matrix(const HostTensor& tensor, const TensorShape& shape,
                       std::span<const Row> rows) {
  HalfMatrix matrix(rows.size(), static_cast<std::size_t>(shape.head_dim));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(row_of(tensor, shape, rows[i]), matrix.row(i));
  }
  return matrix;
}

/// All rows of the head that `of` belongs to, [seqlen, head_dim].
template <class Row>
HalfMatrix head_matrix(const HostTensor& tensor, const TensorShape& shape, Row of) {
  HalfMatrix matrix(static_cast<std::size_t>(shape.seqlen_of(of.batch)),
                    static_cast<std::size_t>(shape.head_dim));
  for (of.row = 0; of.row < shape.seqlen_of(of.batch); ++of.row) {
    std::ranges::copy(row_of(tensor, shape, of), matrix.row(static_cast<std::size_t>(of.row)));
  }
  return matrix;
}

/// The same, transposed: [head_dim, seqlen].
template <class Row>
HalfMatrix transposed_head_matrix(const HostTensor& tensor, const TensorShape& shape, Row of) {
  HalfMatrix matrix(static_cast<std::size_t>(shape.head_dim),
                    static_cast<std::size_t>(shape.seqlen_of(of.batch)));
  for (of.row = 0; of.row < shape.seqlen_of(of.batch); ++of.row) {
    const std::span<const Half> row = row_of(tensor, shape, of);
    for (std::size_t d = 0; d < row.size(); ++d) {
      matrix.row(d)[static_cast<std::size_t>(of.row)] = row[d];
    }
  }
  return matrix;
}

}  // namespace sparkbench
