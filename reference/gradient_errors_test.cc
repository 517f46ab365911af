#include "reference/gradient_errors.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

ExactGradients want() { return {{1.0, 2.0}, {4.0}, {-8.0}}; }

HalfGradients half_gradients(float dq, float dk, float dv) {
  return {{to_half(1.0f), to_half(dq)}, {to_half(dk)}, {to_half(dv)}};
}

TEST(GradientErrors, AreThoseOfEachGradient) {
  const GradientErrors errors = gradient_errors(half_gradients(2.5f, 5.0f, -8.0f), want());
  EXPECT_EQ(errors.dq.max_abs, 0.5);
  EXPECT_EQ(errors.dq.worst_index, 1u);
  EXPECT_EQ(errors.dk.rel_l2, 0.25);
  EXPECT_EQ(errors.dv.rel_l2, 0.0);
  EXPECT_EQ(errors.dv.checked_elements, 1u);
}

TEST(GradientErrors, RefuseDifferentSizes) {
  EXPECT_THROW(gradient_errors({{to_half(1.0f)}, {to_half(4.0f)}, {to_half(-8.0f)}}, want()),
               std::invalid_argument);
}

TEST(WhyIncorrectOfGradients, NamesTheGradientThatIsWrong) {
  const GradientErrors unfused = gradient_errors(half_gradients(2.0f, 4.125f, -8.0f), want());
  const auto why = [&](const HalfGradients& kernel) {
    return why_incorrect(gradient_errors(kernel, want()), unfused, {2.0, 0.0});  // units: 2^-7 of 8
  };
  EXPECT_EQ(why(half_gradients(2.0f, 4.25f, -8.0f)), "");
  EXPECT_EQ(why(half_gradients(2.0f, 4.5f, -8.0f)),
            "dk: rmse 0.5 exceeds 2 x 0.125 (unfused) + 0.00781");
  EXPECT_EQ(why(half_gradients(2.5f, 4.5f, -8.0f)).substr(0, 4), "dq: ");
  EXPECT_EQ(why(half_gradients(2.0f, 4.0f, -8.5f)).substr(0, 4), "dv: ");
  EXPECT_NE(why(half_gradients(2.0f, 4.0f, std::numeric_limits<float>::quiet_NaN())), "");
}

TEST(WhyIncorrectOfGradients, MeasuresACancellingGradientByTheLargest) {
  const ExactGradients one_key{{0.0}, {0.0}, {-8.0}};
  const GradientErrors unfused =
      gradient_errors({{to_half(0.0f)}, {to_half(0.0f)}, {to_half(-8.0f)}}, one_key);
  const auto why = [&](float dq) {
    const HalfGradients kernel{{to_half(dq)}, {to_half(0.0f)}, {to_half(-8.0f)}};
    return why_incorrect(gradient_errors(kernel, one_key), unfused, {2.0, 0x1p-11});
  };
  EXPECT_EQ(why(8 * 0x1p-10f), "");  // a unit of the largest
  EXPECT_NE(why(9 * 0x1p-10f), "");
}

TEST(WhyIncorrectOfGradients, GrantsNoMoreThanTheCap) {
  const GradientErrors unfused =
      gradient_errors(half_gradients(2.0f, 0.0f, -8.0f), want());  // dk is all wrong
  const auto why = [&](float dk) {
    return why_incorrect(gradient_errors(half_gradients(2.0f, dk, -8.0f), want()), unfused, {});
  };
  EXPECT_EQ(why(3.75f), "");  // 2^-5 of 8
  EXPECT_NE(why(3.7f).find("too much to grant"), std::string::npos);
  EXPECT_NE(why(0.0f), "");
}

TEST(WhyIncorrectOfGradients, AllowsAUnitOfGradientsThatVanish) {
  const ExactGradients tiny{{3e-7}, {1e-9}, {-2e-7}};
  const GradientErrors none =
      gradient_errors({{to_half(0x1p-24f * 5)}, {to_half(0.0f)}, {to_half(-0x1p-24f * 3)}}, tiny);
  const HalfGradients off_by_one{
      {to_half(0x1p-24f * 6)}, {to_half(0.0f)}, {to_half(-0x1p-24f * 3)}};
  EXPECT_EQ(why_incorrect(gradient_errors(off_by_one, tiny), none, {}), "");
}

}  // namespace
}  // namespace sparkbench
