#include "kernels/machine/emulated/special_functions/log2_approx.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/special_functions/special_values.h"

namespace sparkbench {
namespace {

TEST(Log2ApproxFtz, IsExactAtPowersOfTwoFromOne) {
  for (int n = 0; n <= 127; ++n) {
    EXPECT_EQ(log2_approx_ftz(std::ldexp(1.0f, n)), static_cast<float>(n));
  }
}

TEST(Log2ApproxFtz, IsJustAboveAtNegativePowersOfTwo) {
  for (int n = 1; n <= 126; ++n) {
    const float result = log2_approx_ftz(std::ldexp(1.0f, -n));
    EXPECT_TRUE(result > static_cast<float>(-n) && result < static_cast<float>(-n) * 0x1.fffffap-1f)
        << n;
  }
}

TEST(Log2ApproxFtz, KnowsTheEndsOfItsRange) {
  expect_bits(log2_approx_ftz, {{0.0f, 0xff800000u},
                                {-0.0f, 0xff800000u},
                                {kSubnormal, 0xff800000u},
                                {-kSubnormal, 0xff800000u},
                                {-0x1p-126f, kCanonicalNanBits},
                                {-1.0f, kCanonicalNanBits},
                                {-kInfinity, kCanonicalNanBits},
                                {kInfinity, 0x7f800000u}});
  expect_canonical_nan(log2_approx_ftz);
}

// Beside 1 the result has few leading digits, so it shows the last steps of the sum: as an H200
// gave them.
TEST(Log2ApproxFtz, HasTheBitsOfTheGpuBesideOne) {
  expect_bits(log2_approx_ftz, {{1.0f, 0u},
                                {0x1.000002p0f, 0x3495f600u},
                                {0x1.000004p0f, 0x34f24a00u},
                                {0x1.fffffep-1f, 0xb24b4000u},
                                {0x1.fffffcp-1f, 0xb3d38800u},
                                {0.5f, 0xbf7ffffeu}});
}

TEST(Log2ApproxFtz, ErrsLittleFromOneHalfToTwo) {
  for (float x = 0.5f; x < 2.0f; x += 0x1p-20f) {
    const double error = log2_approx_ftz(x) - std::log2(static_cast<double>(x));
    ASSERT_TRUE(std::fabs(error) < 0x1p-22) << x;
  }
}

TEST(Log2ApproxFtz, NeverDecreases) {
  float previous = -kInfinity;
  for (std::uint32_t bits = 0x00800000u; bits <= 0x7f800000u; bits += 251) {
    const float result = log2_approx_ftz(float_from_bits(bits));
    ASSERT_TRUE(result >= previous) << float_from_bits(bits);
    previous = result;
  }
}

TEST(Log2Approx, TakesSubnormalNumbers) {
  expect_bits(log2_approx, {{0.0f, 0xff800000u},
                            {-0.0f, 0xff800000u},
                            {-kSubnormal, kCanonicalNanBits},
                            {8.0f, 0x40400000u}});
  EXPECT_EQ(log2_approx(kSubnormal), log2_approx_ftz(0x1p-106f) - 24.0f);
  expect_canonical_nan(log2_approx);
}

}  // namespace
}  // namespace sparkbench
