#include "kernels/machine/emulated/special_functions/reciprocal.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/special_functions/special_values.h"

namespace sparkbench {
namespace {

TEST(ReciprocalApproxFtz, IsExactAtPowersOfTwo) {
  for (int n = -126; n <= 126; ++n) {
    EXPECT_EQ(reciprocal_approx_ftz(std::ldexp(1.0f, n)), std::ldexp(1.0f, -n));
    EXPECT_EQ(reciprocal_approx_ftz(std::ldexp(-1.0f, n)), std::ldexp(-1.0f, -n));
  }
}

TEST(ReciprocalApproxFtz, KnowsTheEndsOfItsRange) {
  expect_bits(reciprocal_approx_ftz, {{0.0f, 0x7f800000u},
                                      {-0.0f, 0xff800000u},
                                      {kSubnormal, 0x7f800000u},
                                      {-kSubnormal, 0xff800000u},
                                      {0x1.000002p126f, 0u},
                                      {-0x1p127f, 0x80000000u},
                                      {kInfinity, 0u},
                                      {-kInfinity, 0x80000000u}});
  expect_canonical_nan(reciprocal_approx_ftz);
}

TEST(ReciprocalApproxFtz, ErrsByLessThanOneUlp) {
  for (float x = 0x1.000002p0f; x < 2.0f; x += 0x1p-20f) {
    const double error = reciprocal_approx_ftz(x) - 1.0 / static_cast<double>(x);
    ASSERT_TRUE(std::fabs(error) < 0x1p-24) << x;
  }
}

TEST(ReciprocalApproxFtz, NeverIncreases) {
  for (std::uint32_t bits = 0x3f7f0000u; bits < 0x3f800000u + (1u << 22); ++bits) {
    const float x = float_from_bits(bits);
    ASSERT_TRUE(reciprocal_approx_ftz(x) >= reciprocal_approx_ftz(float_from_bits(bits + 1))) << x;
  }
}

TEST(ReciprocalApprox, TakesAndGivesSubnormalNumbers) {
  expect_bits(reciprocal_approx, {{0x1p127f, 0x00400000u},
                                  {-0x1p127f, 0x80400000u},
                                  {0x1p-127f, 0x7f000000u},
                                  {0x1p-149f, 0x7f800000u},
                                  {0.0f, 0x7f800000u},
                                  {-0.0f, 0xff800000u},
                                  {-kInfinity, 0x80000000u},
                                  {4.0f, 0x3e800000u}});
  expect_canonical_nan(reciprocal_approx);
}

TEST(ReciprocalRn, IsRoundedToNearestAndKeepsSubnormalNumbers) {
  expect_bits(reciprocal_rn, {{3.0f, 0x3eaaaaabu}, {0x1p127f, 0x00400000u}, {-0.0f, 0xff800000u}});
  expect_canonical_nan(reciprocal_rn);
}

}  // namespace
}  // namespace sparkbench
