#include "kernels/machine/emulated/tensor_core/vector_half.h"

#include <gtest/gtest.h>

#include <random>

namespace sparkbench {
namespace {

TEST(VectorHalf, WidensAllHalvesAsTheDefinitionDoes) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    ASSERT_EQ(float_bits(widened(half)), float_bits(to_float(half))) << bits;
  }
}

TEST(VectorHalf, NarrowsAllHalvesBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    ASSERT_EQ(narrowed(to_float(half)).bits, to_half(to_float(half)).bits) << bits;
  }
}

void expect_rounded_as_defined(std::int32_t magnitude) {
  const float expected = to_float(to_half(float_of(magnitude)));
  ASSERT_EQ(rounded_to_half(magnitude), bits_of(expected)) << magnitude;
}

TEST(VectorHalf, RoundsRandomMagnitudesAsTheDefinitionDoes) {
  std::mt19937 generator(1);
  std::uniform_int_distribution<std::int32_t> magnitudes(0, 0x7f800000);
  std::uniform_int_distribution<std::int32_t> near_half_range(bits_of(0x1p-27f), bits_of(0x1p17f));
  for (int trial = 0; trial < 1000000; ++trial) {
    expect_rounded_as_defined(magnitudes(generator));
    expect_rounded_as_defined(near_half_range(generator));
  }
}

TEST(VectorHalf, RoundsTiesAndNeighboursAsDefined) {
  for (std::uint16_t bits = 0; bits < 0x7c00; ++bits) {
    const float lower = to_float(Half{bits});
    const float upper =
        bits == 0x7bff ? 65536.0f : to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const std::int32_t tie = bits_of((lower + upper) / 2);
    for (const std::int32_t magnitude : {tie - 1, tie, tie + 1}) {
      expect_rounded_as_defined(magnitude);
    }
  }
}

}  // namespace
}  // namespace sparkbench
