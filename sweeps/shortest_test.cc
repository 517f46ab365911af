#include "sweeps/shortest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace sparkbench {
namespace {

TEST(Shortest, ReadsBackEqual) {
  for (const double value : {0.1, 1.0 / 3.0, 1e-300, 123456789.125, -0.0, 5e-324}) {
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value) << value;
  }
}

TEST(Shortest, HasNoDigitThatIsNotNeeded) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(4096.0), "4096");
  EXPECT_EQ(shortest(1e-7), "1e-07");
}

TEST(Shortest, IsEmptyWhenNotFinite) {
  EXPECT_EQ(shortest(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "");
}

TEST(WidenAsWritten, IsTheDoubleOfTheSameDigits) {
  EXPECT_EQ(widen_as_written(0.1f), 0.1);
  EXPECT_EQ(widen_as_written(0.125f), 0.125);
  EXPECT_EQ(static_cast<float>(widen_as_written(0.088388346f)), 0.088388346f);
  EXPECT_TRUE(std::isnan(widen_as_written(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace sparkbench
