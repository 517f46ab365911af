// A GEMM on the host in the arithmetic of a GPU's tensor cores.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/element_type.h"

namespace sparkbench {

/// The tensor cores that a GEMM runs on: their arithmetic, and the type of C.
struct TensorCores {
  const ArithmeticProfile& profile;
  Accumulator accumulator = Accumulator::kFp32;
  /// 0: k ascends. Otherwise selects another draw of the rounding errors for the same exact result:
  /// each sum is taken in a random order, and P is rounded times p_scale().
  unsigned rounding_draw = 0;
  /// What an unfused computation stores its intermediates and results as. A product of two bf16
  /// numbers is exact, as one of two fp16 numbers is.
  ElementType element = ElementType::kFp16;

  /// 1 to 2, evenly spread over the draws; 1 for draw 0.
  float p_scale() const {
    const double turns = rounding_draw * 0.6180339887498949;
    return static_cast<float>(std::exp2(turns - std::floor(turns)));
  }
};

/// A row-major matrix of halves, padded with zeros to whole tensor-core tiles: 32 rows by 4
/// columns. Zeros do not change a tensor core's sum.
class HalfMatrix {
 public:
  HalfMatrix(std::size_t rows, std::size_t columns);
  /// A matrix of numbers of this type. bf16 numbers are kept in units of a power of two, so that
  /// none above 2^-32 of the largest loses a digit.
  HalfMatrix(std::size_t rows, std::size_t columns, const std::vector<float>& values,
             ElementType element);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t padded_columns() const { return padded_columns_; }
  /// What a half of 1 stands for.
  float unit() const { return unit_; }
  Half* row(std::size_t i) { return data_.data() + i * padded_columns_; }
  const Half* row(std::size_t i) const { return data_.data() + i * padded_columns_; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::size_t padded_columns_;
  std::vector<Half> data_;
  float unit_ = 1.0f;
};

/// C = A B^T, [a.rows(), b.rows()]: c[i, j] = sum over k of a[i, k] * b[j, k], from 0, k ascending
/// (or as rounding_draw says) in blocks of the profile's length; zeros if k is empty. With fp16
/// accumulators every element is an fp16 number. Throws std::invalid_argument unless a and b have
/// as many columns.
std::vector<float> tensor_core_matmul(const TensorCores& tensor_cores, const HalfMatrix& a,
                                      const HalfMatrix& b);

}  // namespace sparkbench
