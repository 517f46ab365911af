// Matrices of halves gathered from [batch, seqlen, heads, head_dim] tensors, as operands of
// tensor_core_matmul.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "reference/tensors/tensor_rows.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The requested rows, [rows, head_dim].
template <class Row>
HalfMatrix rows_matrix(const HostTensor& tensor, const TensorShape& shape,
                       std::span<const Row> rows) {
  HalfMatrix matrix(rows.size(), static_cast<std::size_t>(shape.head_dim));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(row_of(tensor, shape, rows[i]), matrix.row(i));
  }
  return matrix;
}

/// Some rows of the head of `of`, [rows, head_dim].
template <class Row>
HalfMatrix head_matrix(const HostTensor& tensor, const TensorShape& shape, Row of,
                       std::span<const int> rows) {
  HalfMatrix matrix(rows.size(), static_cast<std::size_t>(shape.head_dim));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    of.row = rows[i];
    std::ranges::copy(row_of(tensor, shape, of), matrix.row(i));
  }
  return matrix;
}

/// The same, transposed: [head_dim, rows].
template <class Row>
HalfMatrix transposed_head_matrix(const HostTensor& tensor, const TensorShape& shape, Row of,
                                  std::span<const int> rows) {
  HalfMatrix matrix(static_cast<std::size_t>(shape.head_dim), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    of.row = rows[i];
    const std::span<const Half> row = row_of(tensor, shape, of);
    for (std::size_t d = 0; d < row.size(); ++d) matrix.row(d)[i] = row[d];
  }
  return matrix;
}

/// All matrices' columns, one matrix after the other.
inline HalfMatrix side_by_side(const std::vector<const HalfMatrix*>& matrices) {
  std::size_t columns = 0;
  for (const HalfMatrix* matrix : matrices) columns += matrix->columns();
  HalfMatrix all(matrices.front()->rows(), columns);
  std::size_t first = 0;
  for (const HalfMatrix* matrix : matrices) {
    for (std::size_t i = 0; i < all.rows(); ++i) {
      std::copy_n(matrix->row(i), matrix->columns(), all.row(i) + first);
    }
    first += matrix->columns();
  }
  return all;
}

}  // namespace sparkbench
