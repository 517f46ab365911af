// Row-major matrices on the host: doubles in the oracle, and floats with fp16 values for a layer in
// fp16.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/half.h"

namespace sparkbench {

template <class Real>
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<Real> values;

  Matrix() = default;
  Matrix(std::size_t of_rows, std::size_t of_columns)
      : rows(of_rows), columns(of_columns), values(of_rows * of_columns) {}

  std::span<Real> row(std::size_t i) { return std::span(values).subspan(i * columns, columns); }
  std::span<const Real> row(std::size_t i) const {
    return std::span(values).subspan(i * columns, columns);
  }
};

template <class Real>
Matrix<Real> matrix_of(std::span<const Half> halves, std::size_t rows, std::size_t columns) {
  Matrix<Real> matrix(rows, columns);
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    matrix.values[i] = static_cast<Real>(to_float(halves[i]));
  }
  return matrix;
}

/// Rounds each value to the nearest fp16.
template <class Real>
std::vector<Half> halves_of(const Matrix<Real>& matrix) {
  std::vector<Half> halves;
  halves.reserve(matrix.values.size());
  for (const Real value : matrix.values) halves.push_back(to_half(static_cast<float>(value)));
  return halves;
}

template <class Real>
Matrix<Real> transposed(const Matrix<Real>& matrix) {
  Matrix<Real> other(matrix.columns, matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) other.row(j)[i] = matrix.row(i)[j];
  }
  return other;
}

/// `rows` rows from `first` on.
template <class Real>
Matrix<Real> rows_from(const Matrix<Real>& matrix, std::size_t first, std::size_t rows) {
  Matrix<Real> part(rows, matrix.columns);
  const std::span<const Real> from =
      std::span(matrix.values).subspan(first * matrix.columns, part.values.size());
  part.values.assign(from.begin(), from.end());
  return part;
}

/// f(a, b), element by element; both matrices have one shape.
template <class Real, class F>
Matrix<Real> combined(const Matrix<Real>& a, const Matrix<Real>& b, F f) {
  Matrix<Real> result(a.rows, a.columns);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    result.values[i] = f(a.values[i], b.values[i]);
  }
  return result;
}

}  // namespace sparkbench
