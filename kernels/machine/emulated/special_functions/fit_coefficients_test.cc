#include "kernels/machine/emulated/special_functions/fit_coefficients.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/machine/emulated/special_functions/exp2_approx.h"
#include "kernels/machine/emulated/special_functions/log2_approx.h"
#include "kernels/machine/emulated/special_functions/reciprocal.h"

namespace sparkbench {
namespace {

/// The results of a function for every float of [1, 2), times `scale`.
std::vector<float> results_of(float (*function)(float), float scale) {
  std::vector<float> results;
  for (std::uint32_t bits = 0x3f800000u; bits < 0x40000000u; ++bits) {
    results.push_back(scale * function(float_from_bits(bits)));
  }
  return results;
}

void expect_table(const FittedTable& fitted, const Interpolation& expected) {
  EXPECT_EQ(fitted.bias, expected.bias);
  ASSERT_EQ(fitted.segments.size(), std::size_t{1} << expected.segment_bits);
  for (std::size_t i = 0; i < fitted.segments.size(); ++i) {
    EXPECT_EQ(fitted.segments[i].c0, expected.segments[i].c0) << i;
    EXPECT_EQ(fitted.segments[i].c1, expected.segments[i].c1) << i;
    EXPECT_EQ(fitted.segments[i].c2, expected.segments[i].c2) << i;
  }
}

TEST(FitCoefficients, FindsTheTableOfExp2InItsResults) {
  expect_table(
      fit_coefficients(kExp2Function, kExp2Interpolation, results_of(exp2_approx_ftz, 0.5f)),
      kExp2Interpolation);
}

TEST(FitCoefficients, FindsTheTableOfLog2InItsResults) {
  expect_table(
      fit_coefficients(kLog2Function, kLog2Interpolation, results_of(log2_approx_ftz, 1.0f)),
      kLog2Interpolation);
}

TEST(FitCoefficients, FindsTheReciprocalsTableInItsResults) {
  expect_table(fit_coefficients(kReciprocalFunction, kReciprocalInterpolation,
                                results_of(reciprocal_approx_ftz, 1.0f)),
               kReciprocalInterpolation);
}

TEST(FitCoefficients, RefusesResultsThatNoTableGives) {
  std::vector<float> results = results_of(exp2_approx_ftz, 0.5f);
  results[12345] *= 1.001f;
  EXPECT_THROW(fit_coefficients(kExp2Function, kExp2Interpolation, results), std::runtime_error);
  results.pop_back();
  EXPECT_THROW(fit_coefficients(kExp2Function, kExp2Interpolation, results), std::runtime_error);
}

}  // namespace
}  // namespace sparkbench
