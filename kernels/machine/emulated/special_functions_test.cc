#include "kernels/machine/emulated/special_functions.h"

#include <gtest/gtest.h>

#include <limits>

namespace sparkbench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kSubnormal = 0x1p-130f;

TEST(RoundedExp2, IsExactAtIntegers) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(rounded_exp2(static_cast<float>(n)), std::ldexp(1.0f, n));
  }
}

TEST(RoundedExp2, RoundsTheSquareRootOfTwoToNearest) {
  EXPECT_EQ(float_bits(rounded_exp2(0.5f)), 0x3fb504f3u);  // 1.41421356...
}

TEST(RoundedExp2, FlushesSubnormalResultsAndOverflowsToInfinity) {
  EXPECT_EQ(float_bits(rounded_exp2(-127.0f)), 0u);
  EXPECT_EQ(float_bits(rounded_exp2(-kInfinity)), 0u);
  EXPECT_EQ(rounded_exp2(128.0f), kInfinity);
  EXPECT_EQ(rounded_exp2(kSubnormal), 1.0f);
}

TEST(RoundedExp2, GivesTheCanonicalNan) {
  EXPECT_EQ(float_bits(rounded_exp2(float_from_bits(0xffc12345u))), 0x7fffffffu);
}

TEST(RoundedLog2, IsExactAtPowersOfTwo) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(rounded_log2(std::ldexp(1.0f, n)), static_cast<float>(n));
  }
}

TEST(RoundedLog2, TreatsSubnormalNumbersAsZeros) {
  EXPECT_EQ(rounded_log2(0.0f), -kInfinity);
  EXPECT_EQ(rounded_log2(-0.0f), -kInfinity);
  EXPECT_EQ(rounded_log2(kSubnormal), -kInfinity);
  EXPECT_EQ(rounded_log2(-kSubnormal), -kInfinity);
}

TEST(RoundedLog2, GivesTheCanonicalNanForNegativeNumbers) {
  EXPECT_EQ(float_bits(rounded_log2(-1.0f)), 0x7fffffffu);
  EXPECT_EQ(float_bits(rounded_log2(-kInfinity)), 0x7fffffffu);
  EXPECT_EQ(rounded_log2(kInfinity), kInfinity);
}

TEST(FlushSubnormal, KeepsTheSignAndEveryNormalNumber) {
  EXPECT_EQ(float_bits(flush_subnormal(kSubnormal)), 0u);
  EXPECT_EQ(float_bits(flush_subnormal(-kSubnormal)), 0x80000000u);
  EXPECT_EQ(flush_subnormal(0x1p-126f), 0x1p-126f);
  EXPECT_TRUE(std::isnan(flush_subnormal(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace sparkbench
