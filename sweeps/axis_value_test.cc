#include "sweeps/axis_value.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(AxisValue, IsWrittenAsItsFlagTakesIt) {
  EXPECT_EQ(text_of_value(512), "512");
  EXPECT_EQ(text_of_value(0.1f), "0.1");
  EXPECT_EQ(text_of_value(0.0f), "0");
  EXPECT_EQ(text_of_value(true), "true");
  EXPECT_EQ(text_of_value(std::string("window:256")), "window:256");
}

TEST(AxisValue, HasNoTextWhenNone) {
  EXPECT_TRUE(is_none({}));
  EXPECT_FALSE(is_none(0));
  EXPECT_EQ(text_of_value({}), "");
}

}  // namespace
}  // namespace sparkbench
