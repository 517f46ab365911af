#include "kernels/machine/emulated/tensor_core/rows_mma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/test_operands.h"

namespace sparkbench {
namespace {

constexpr int kColumns = 40;  // a vector of 16 takes some of them, its remainder the others

template <class Draw>
RowsOperands drawn_operands(Draw draw) {
  RowsOperands operands;
  for (auto& row : operands.a) {
    for (Bits16& element : row) element = draw();
  }
  for (auto& row : operands.b) {
    for (Bits16& element : row) element = draw();
  }
  return operands;
}

template <class Draw>
RowsAccumulator drawn_accumulator(Draw draw) {
  RowsAccumulator c;
  for (auto& row : c.value) {
    for (float& value : row) value = draw();
  }
  return c;
}

void expect_definition(const ArithmeticProfile& profile, const RowsOperands& operands,
                       const RowsAccumulator& before) {
  RowsAccumulator after = before;
  multiply_rows<Half>(profile, operands, kColumns, after);
  for (int row = 0; row < kMmaRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const float expected =
          dot_accumulate(profile, row_of<Half>(operands, row), column_of<Half>(operands, column),
                         before.value[row][column]);
      ASSERT_EQ(float_bits(after.value[row][column]), float_bits(expected)) << row << ' ' << column;
    }
  }
}

constexpr const char* kProfiles[] = {"hopper", "ampere"};

TEST(RowsMma, HasDefinedBitsOfEverySort) {
  std::mt19937 generator(3);
  for (const char* profile : kProfiles) {
    for (const Sort sort : kAllSorts) {
      for (int i = 0; i < 40; ++i) {
        const auto operands = drawn_operands([&] { return random_half(sort, generator); });
        const auto c = drawn_accumulator([&] { return random_float(sort, generator); });
        expect_definition(arithmetic_profile(profile), operands, c);
      }
    }
  }
}

TEST(RowsMma, HasDefinedBitsForEveryMagnitudeOfC) {
  std::mt19937 generator(4);
  std::uniform_real_distribution<float> fraction(-2.0f, 2.0f);
  for (const char* profile : kProfiles) {
    for (const Sort sort : {Sort::kNormal, Sort::kWide, Sort::kZeros, Sort::kSubnormal}) {
      for (int exponent = -110; exponent <= 126; ++exponent) {
        const auto operands = drawn_operands([&] { return random_half(sort, generator); });
        const auto c = drawn_accumulator(
            [&] { return std::ldexp(1.0f + std::abs(fraction(generator)) / 2.0f, exponent); });
        expect_definition(arithmetic_profile(profile), operands, c);
      }
    }
  }
}

TEST(RowsMma, AddsTheLargestSignificandsWithoutOverflow) {
  for (const char* profile : kProfiles) {
    for (const std::uint16_t bits : {0x3fff, 0xbfff, 0x3e00, 0x3d55, 0x7bff}) {
      const auto operands = drawn_operands([&] { return Half{bits}; });
      for (const float c : {0.0f, 3.9999998f, -3.9999998f, 0x1.fffffep31f}) {
        expect_definition(arithmetic_profile(profile), operands,
                          drawn_accumulator([&] { return c; }));
      }
    }
  }
}

TEST(RowsMma, KeepsASmallCBesideZeroProducts) {
  for (const char* profile : kProfiles) {
    RowsOperands operands = drawn_operands([] { return Half{0x7bff}; });
    for (auto& row : operands.a) {
      for (Bits16& element : row) element = Half{0};
    }
    expect_definition(arithmetic_profile(profile), operands,
                      drawn_accumulator([] { return 0x1.000002p-99f; }));
  }
}

}  // namespace
}  // namespace sparkbench
