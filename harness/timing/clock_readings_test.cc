#include "harness/timing/clock_readings.h"

#include <gtest/gtest.h>

#include <vector>

namespace sparkbench {
namespace {

using Readings = std::vector<std::optional<double>>;

TEST(ClockReadings, AreSummarizedWithoutThoseThatAreUnknown) {
  const Readings readings = {1500, std::nullopt, 1300, 1530};
  const std::optional<ClockMhz> clock = summarize_clocks(readings);
  ASSERT_TRUE(clock.has_value());
  EXPECT_EQ(clock->median, 1500);
  EXPECT_EQ(clock->min, 1300);
  EXPECT_EQ(clock->max, 1530);
  EXPECT_EQ(clock->samples, readings);
}

TEST(ClockReadings, SayNothingWhenNoneIsKnown) {
  EXPECT_FALSE(summarize_clocks(Readings{std::nullopt}).has_value());
  EXPECT_FALSE(summarize_clocks({}).has_value());
}

TEST(CountThrottled, CountsTheSamplesFarBelowTheHighestClock) {
  EXPECT_EQ(count_throttled(Readings{1530, 1230, 1220, 900, std::nullopt}, 1530), 2);
  EXPECT_EQ(count_throttled({}, 1530), 0);
}

}  // namespace
}  // namespace sparkbench
