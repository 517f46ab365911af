#include "reference/unfused/tensor_core_matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>

#include "kernels/base/round_up.h"
#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {
namespace {

constexpr std::size_t kWarpRows = 32;  // four quad-pairs of 8 rows
constexpr std::size_t kWarpColumns = 8;
constexpr std::size_t kWarpK = 4;

/// An operand at every k step. Row-major A and column-major B look alike to a lane: four halves of
/// one row of the matrix. Quad-pair p takes 8 rows from first_row + p * rows_per_quad_pair.
std::vector<WarpOperands> load_operand(const HalfMatrix& matrix, std::size_t first_row,
                                       std::size_t rows_per_quad_pair) {
  std::vector<WarpOperands> steps(matrix.padded_columns() / kWarpK);
  for (int lane = 0; lane < 32; ++lane) {
    const Half* row = matrix.row(first_row + static_cast<std::size_t>(owned_row(lane)) +
                                 static_cast<std::size_t>(quad_pair(lane)) * rows_per_quad_pair);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::memcpy(steps[step].pair[lane], row + step * kWarpK, sizeof steps[step].pair[lane]);
    }
  }
  return steps;
}

struct Element {
  int row;  // of the quad-pair's tile
  int column;
  float value;
};

Element element(const AccumulatorFragment<Accumulator::kFp32>& c, int lane, int i) {
  return {fp32_row(lane, i), fp32_column(lane, i), c.element[i]};
}

Element element(const AccumulatorFragment<Accumulator::kFp16>& c, int lane, int i) {
  const std::uint32_t bits = c.pair[i / 2] >> (16 * (i % 2));
  return {owned_row(lane), i, to_float(Half{static_cast<std::uint16_t>(bits)})};
}

/// Computes and stores the 32 x 8 tile of C, [rows, columns], at (first_row, first_column).
template <Accumulator kAccumulator>
class WarpTile {
 public:
  void multiply(const ArithmeticProfile& profile, std::span<const WarpOperands> a,
                std::span<const WarpOperands> b) {
    AccumulatorFragment<kAccumulator>* lanes[32];
    for (int lane = 0; lane < 32; ++lane) lanes[lane] = &c_[lane];
    warp_mma_m8n8k4(profile, Major::kRow, Major::kColumn, a, b, lanes);
  }

  /// Calls store(row, column, value) for every element of the tile.
  template <class Store>
  void for_each(Store store) const {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i) {
        const Element e = element(c_[lane], lane, i);
        const int row = e.row + 8 * quad_pair(lane);
        store(static_cast<std::size_t>(row), static_cast<std::size_t>(e.column), e.value);
      }
    }
  }

 private:
  AccumulatorFragment<kAccumulator> c_[32] = {};
};

/// The product by m8n8k4 instructions, 32 x 8 elements of C at a time.
template <Accumulator kAccumulator>
std::vector<float> matmul_by_warps(const ArithmeticProfile& profile, const HalfMatrix& a,
                                   const HalfMatrix& b) {
  std::vector<float> c(a.rows() * b.rows());
  for (std::size_t row = 0; row < a.rows(); row += kWarpRows) {
    const std::vector<WarpOperands> a_steps = load_operand(a, row, kWarpRows / 4);
    for (std::size_t column = 0; column < b.rows(); column += kWarpColumns) {
      WarpTile<kAccumulator> tile;
      tile.multiply(profile, a_steps, load_operand(b, column, 0));
      tile.for_each([&](std::size_t i, std::size_t j, float value) {
        const bool is_inside = row + i < a.rows() && column + j < b.rows();
        if (is_inside) c[(row + i) * b.rows() + column + j] = value;
      });
    }
  }
  return c;
}

/// Elements of C that matmul_by_warps computes, padding included.
std::size_t warp_elements(const HalfMatrix& a, const HalfMatrix& b) {
  return round_up(a.rows(), kWarpRows) * round_up(b.rows(), kWarpColumns);
}

std::vector<float> transpose(const std::vector<float>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<float> transposed(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    transposed[i % columns * rows + i / columns] = matrix[i];
  }
  return transposed;
}

/// C, or the transpose of B A^T if that is less work, as for a few rows of A: products commute.
template <Accumulator kAccumulator>
std::vector<float> matmul_by_fewest_warps(const ArithmeticProfile& profile, const HalfMatrix& a,
                                          const HalfMatrix& b) {
  if (warp_elements(a, b) <= warp_elements(b, a)) {
    return matmul_by_warps<kAccumulator>(profile, a, b);
  }
  return transpose(matmul_by_warps<kAccumulator>(profile, b, a), a.rows());
}

/// The product by the definition, one element of C at a time.
std::vector<float> matmul_by_elements(const TensorCores& tensor_cores, const HalfMatrix& a,
                                      const HalfMatrix& b) {
  std::vector<float> c(a.rows() * b.rows());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::span a_row(a.row(i / b.rows()), a.padded_columns());
    const std::span b_row(b.row(i % b.rows()), b.padded_columns());
    c[i] = tensor_cores.accumulator == Accumulator::kFp32
               ? dot_accumulate(tensor_cores.profile, a_row, b_row, 0.0f)
               : to_float(dot_accumulate(tensor_cores.profile, a_row, b_row, Half{0}));
  }
  return c;
}

/// The same columns in the given order.
HalfMatrix with_columns(const HalfMatrix& matrix, const std::vector<std::size_t>& order) {
  HalfMatrix ordered(matrix.rows(), matrix.columns());
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t k = 0; k < order.size(); ++k) ordered.row(i)[k] = matrix.row(i)[order[k]];
  }
  return ordered;
}

float largest_magnitude(const std::vector<float>& values) {
  float largest = 0.0f;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// C of the halves, whatever they stand for.
std::vector<float> matmul(const TensorCores& tensor_cores, const HalfMatrix& a,
                          const HalfMatrix& b) {
  // A GEMM uses the instruction with the longest blocks. That is m8n8k4 only if the blocks have
  // length four.
  if (tensor_cores.profile.block_length != kWarpK) return matmul_by_elements(tensor_cores, a, b);
  return tensor_cores.accumulator == Accumulator::kFp32
             ? matmul_by_fewest_warps<Accumulator::kFp32>(tensor_cores.profile, a, b)
             : matmul_by_fewest_warps<Accumulator::kFp16>(tensor_cores.profile, a, b);
}

std::vector<float> matmul_in_random_order(const TensorCores& tensor_cores, const HalfMatrix& a,
                                          const HalfMatrix& b) {
  std::vector<std::size_t> order(a.columns());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 draw(tensor_cores.rounding_draw);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[draw() % k]);
  return matmul(tensor_cores, with_columns(a, order), with_columns(b, order));
}

}  // namespace

HalfMatrix::HalfMatrix(std::size_t rows, std::size_t columns)
    : rows_(rows),
      columns_(columns),
      padded_columns_(round_up(columns, kWarpK)),
      data_(round_up(rows, kWarpRows) * padded_columns_) {}

HalfMatrix::HalfMatrix(std::size_t rows, std::size_t columns, const std::vector<float>& values,
                       ElementType element)
    : HalfMatrix(rows, columns) {
  constexpr int kLargestExponent = 15;  // of a half
  const float largest = element == ElementType::kBf16 ? largest_magnitude(values) : 0.0f;
  if (largest > 0.0f) unit_ = std::ldexp(1.0f, std::ilogb(largest) - kLargestExponent);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * columns);
    std::transform(begin, begin + static_cast<std::ptrdiff_t>(columns), row(i),
                   [this](float value) { return to_half(value / unit_); });
  }
}

std::vector<float> tensor_core_matmul(const TensorCores& tensor_cores, const HalfMatrix& a,
                                      const HalfMatrix& b) {
  if (a.columns() != b.columns()) {
    throw std::invalid_argument("the factors of a matmul differ in the length of their rows");
  }
  std::vector<float> c = tensor_cores.rounding_draw != 0
                             ? matmul_in_random_order(tensor_cores, a, b)
                             : matmul(tensor_cores, a, b);
  const float unit = a.unit() * b.unit();
  if (unit != 1.0f) {
    for (float& element : c) element *= unit;
  }
  return c;
}

}  // namespace sparkbench
