#include "kernels/machine/emulated/special_functions/exp2_approx.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/machine/emulated/special_functions/special_values.h"

namespace sparkbench {
namespace {

/// How far `computed` is from 2^x, in units of the last place of 2^x.
double error_ulp(float x, float computed) {
  const double exact = std::exp2(static_cast<double>(x));
  return (computed - exact) / std::ldexp(1.0, std::ilogb(exact) - 23);
}

TEST(Exp2ApproxFtz, IsExactAtIntegers) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(exp2_approx_ftz(static_cast<float>(n)), std::ldexp(1.0f, n));
  }
}

TEST(Exp2ApproxFtz, KnowsTheEndsOfItsRange) {
  expect_bits(exp2_approx_ftz, {{kInfinity, 0x7f800000u},
                                {128.0f, 0x7f800000u},
                                {0x1.fffffep6f, 0x7f7fffa8u},  // the largest x below 128
                                {kSubnormal, 0x3f800000u},
                                {-kSubnormal, 0x3f800000u},
                                {-0.0f, 0x3f800000u},
                                {-126.0f, 0x00800000u},
                                {-0x1.f80002p6f, 0u},  // the next x below -126
                                {-kInfinity, 0u}});
  expect_canonical_nan(exp2_approx_ftz);
}

TEST(Exp2ApproxFtz, CutsWhatLiesBelowFractionBit23) {
  EXPECT_EQ(exp2_approx_ftz(-0x1p-24f), 1.0f);
  EXPECT_EQ(exp2_approx_ftz(0.5f + 0x1p-24f), exp2_approx_ftz(0.5f));
  EXPECT_EQ(exp2_approx_ftz(-0.25f - 0x1p-25f), exp2_approx_ftz(-0.25f));
}

TEST(Exp2ApproxFtz, ErrsByFewUlpAboveZeroManyBelow) {
  for (float x = 1.0f; x < 2.0f; x += 0x1p-20f) {
    ASSERT_TRUE(std::fabs(error_ulp(x, exp2_approx_ftz(x))) < 1.391) << x;
    ASSERT_TRUE(std::fabs(error_ulp(-x, exp2_approx_ftz(-x))) < 2.0551) << -x;
  }
}

TEST(Exp2ApproxFtz, NeverDecreases) {
  float previous = 0.0f;
  for (std::int32_t i = -(127 << 14); i <= 128 << 14; ++i) {
    const float result = exp2_approx_ftz(static_cast<float>(i) * 0x1p-14f);
    ASSERT_TRUE(result >= previous) << i;
    previous = result;
  }
  for (std::uint32_t bits = 0x3f7f0000u; bits < 0x3f810000u; ++bits) {
    const float x = float_from_bits(bits);
    const float next = std::nextafter(x, 2.0f);
    ASSERT_TRUE(exp2_approx_ftz(x) <= exp2_approx_ftz(next)) << x;
    ASSERT_TRUE(exp2_approx_ftz(-x) >= exp2_approx_ftz(-next)) << -x;
  }
}

TEST(Exp2Approx, KeepsSubnormalResults) {
  expect_bits(exp2_approx, {{-127.0f, 0x003fffffu},  // 2^-63.5 came out low
                            {-149.0f, 0x00000001u},
                            {-151.0f, 0u},
                            {-kInfinity, 0u},
                            {-126.0f, 0x00800000u},
                            {128.0f, 0x7f800000u}});
  expect_canonical_nan(exp2_approx);
}

TEST(ExpfIntrinsic, IsExp2OfTheProductWithLog2E) {
  expect_bits(
      expf_intrinsic,
      {{0.0f, 0x3f800000u}, {-kInfinity, 0u}, {kInfinity, 0x7f800000u}, {0x1p127f, 0x7f800000u}});
  EXPECT_EQ(expf_intrinsic(1.0f), exp2_approx(0x1.715476p0f));
  expect_canonical_nan(expf_intrinsic);
}

}  // namespace
}  // namespace sparkbench
