#include "reference/unfused/tensor_core_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

HalfMatrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const std::vector<Half> values =
      make_input({Distribution::kNormal, seed, InputTensor::kQ},
                 {1, static_cast<int>(rows), 1, static_cast<int>(columns)});
  HalfMatrix matrix(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(&values[i * columns], columns, matrix.row(i));
  }
  return matrix;
}

float dot(const TensorCores& tensor_cores, const Half* a, const Half* b, std::size_t size) {
  const std::span a_span(a, size), b_span(b, size);
  return tensor_cores.accumulator == Accumulator::kFp32
             ? dot_accumulate(tensor_cores.profile, a_span, b_span, 0.0f)
             : to_float(dot_accumulate(tensor_cores.profile, a_span, b_span, Half{0}));
}

/// Many rows of A, and few, which are computed transposed.
TEST(TensorCoreMatmul, GivesTheDefinitionsBitsForEveryProfile) {
  const HalfMatrix b = random_matrix(19, 72, 2);
  for (const std::size_t rows : {37u, 3u}) {
    const HalfMatrix a = random_matrix(rows, 72, 1);
    for (const ArithmeticProfile& profile : arithmetic_profiles()) {
      for (const Accumulator accumulator : {Accumulator::kFp32, Accumulator::kFp16}) {
        const TensorCores tensor_cores{profile, accumulator};
        const std::vector<float> c = tensor_core_matmul(tensor_cores, a, b);
        ASSERT_EQ(c.size(), rows * 19u);
        for (std::size_t i = 0; i < c.size(); ++i) {
          const float want = dot(tensor_cores, a.row(i / 19), b.row(i % 19), 72);
          ASSERT_EQ(float_bits(c[i]), float_bits(want)) << profile.name << ", element " << i;
        }
      }
    }
  }
}

TEST(TensorCoreMatmul, OtherDrawsHaveOtherErrorsOfTheSameSize) {
  const HalfMatrix a = random_matrix(37, 72, 1), b = random_matrix(19, 72, 2);
  const auto rms_error = [&](unsigned draw) {
    const std::vector<float> c =
        tensor_core_matmul({arithmetic_profile("volta"), Accumulator::kFp16, draw}, a, b);
    double squares = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      double want = 0;
      for (std::size_t k = 0; k < 72; ++k) {
        want += double{to_float(a.row(i / 19)[k])} * to_float(b.row(i % 19)[k]);
      }
      squares += (c[i] - want) * (c[i] - want);
    }
    return std::sqrt(squares / static_cast<double>(c.size()));
  };
  const double usual = rms_error(0);
  for (unsigned draw = 1; draw <= 8; ++draw) {
    EXPECT_NE(rms_error(draw), usual);
    EXPECT_NEAR(rms_error(draw), usual, 0.2 * usual);
  }
}

TEST(TensorCores, ScaleOfPIsOneOfTheFirstDrawAndBelowTwo) {
  EXPECT_EQ((TensorCores{arithmetic_profile("volta")}.p_scale()), 1.0f);
  for (unsigned draw = 1; draw <= 8; ++draw) {
    const float scale =
        TensorCores{arithmetic_profile("volta"), Accumulator::kFp32, draw}.p_scale();
    EXPECT_GT(scale, 1.0f);
    EXPECT_LT(scale, 2.0f);
  }
}

TEST(TensorCoreMatmul, RowsArePaddedWithoutChangingTheSum) {
  const HalfMatrix a = random_matrix(5, 6, 1), b = random_matrix(3, 6, 2);
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    const std::vector<float> c = tensor_core_matmul({profile}, a, b);
    for (std::size_t i = 0; i < c.size(); ++i) {
      double want = 0.0, magnitude = 0.0;
      for (std::size_t k = 0; k < 6; ++k) {
        const double product = double{to_float(a.row(i / 3)[k])} * to_float(b.row(i % 3)[k]);
        want += product;
        magnitude += std::abs(product);
      }
      EXPECT_LE(std::abs(c[i] - want), 6 * 0x1p-22 * magnitude) << profile.name;
    }
  }
}

TEST(TensorCoreMatmul, RoundsEveryBlockInFp16Accumulators) {
  // 2048 + 1 + 1 + 1 + 1, each one in its own block: above 2048 fp16 counts in twos, and each tie
  // rounds to even.
  HalfMatrix a(1, 20), b(1, 20);
  for (std::size_t k = 0; k < 20; k += 4) {
    a.row(0)[k] = to_half(k == 0 ? 2048.0f : 1.0f);
    b.row(0)[k] = to_half(1.0f);
  }
  const ArithmeticProfile& volta = arithmetic_profile("volta");
  EXPECT_EQ(tensor_core_matmul({volta, Accumulator::kFp32}, a, b)[0], 2052.0f);
  EXPECT_EQ(tensor_core_matmul({volta, Accumulator::kFp16}, a, b)[0], 2048.0f);
}

TEST(TensorCoreMatmul, RefusesRowsOfDifferentLengths) {
  EXPECT_THROW(
      tensor_core_matmul({arithmetic_profile("volta")}, HalfMatrix(1, 4), HalfMatrix(1, 8)),
      std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
