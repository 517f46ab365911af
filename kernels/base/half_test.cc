#include "kernels/base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sparkbench {
namespace {

bool is_nan(Half h) { return (h.bits & 0x7fff) > 0x7c00; }

TEST(Half, EveryNumberSurvivesTheRoundTripThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<std::uint16_t>(bits)};
    if (is_nan(h)) continue;
    ASSERT_EQ(to_half(to_float(h)).bits, h.bits) << std::hex << bits;
  }
}

TEST(Half, EveryNaNBecomesTheCanonicalNaN) {
  EXPECT_EQ(to_half(std::nanf("")).bits, 0x7fff);
  EXPECT_EQ(to_half(-std::nanf("1")).bits, 0x7fff);
  EXPECT_TRUE(std::isnan(to_float(Half{0x7e01})));
}

TEST(Half, KnownValuesHaveTheirBits) {
  EXPECT_EQ(to_half(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_half(-2.0f).bits, 0xc000);
  EXPECT_EQ(to_half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(0x1p-14f).bits, 0x0400);
  EXPECT_EQ(to_half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(to_half(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_float(Half{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_float(Half{0xfc00}), -INFINITY);
}

// Between two neighbours the nearer wins, and the even one on a tie, in every binade, the
// subnormal ones and the edge of overflow included.
TEST(Half, RoundsToNearestTiesToEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float lower = to_float(Half{bits});
    const float upper = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float middle = lower + (upper - lower) / 2;
    const std::uint16_t even = (bits & 1) == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
    ASSERT_EQ(to_half(middle).bits, even) << std::hex << bits;
    ASSERT_EQ(to_half(std::nextafterf(middle, lower)).bits, bits) << std::hex << bits;
    ASSERT_EQ(to_half(std::nextafterf(middle, upper)).bits, bits + 1) << std::hex << bits;
  }
}

TEST(Half, OverflowsFromTheMiddleOfTheLastStep) {
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e30f).bits, 0xfc00);
}

}  // namespace
}  // namespace sparkbench
