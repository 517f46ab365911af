#include "results/study/median_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

/// Below which three quarters of a standard normal distribution lie.
double normal_quartile() {
  double below = 0, above = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (below + above) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < 0.75 ? below : above) = middle;
  }
  return below;
}

TEST(MedianError, TakesTheMedianWhereThereIsOne) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_THROW(median_of({}), std::invalid_argument);
}

TEST(MedianError, IsDoubtedByTheQuartiles) {
  const std::vector<double> samples = {99, 101, 99, 101, 100, 100, 100, 100, 99, 101, 99, 101, 100};
  const double deviation = 2 / (2 * normal_quartile());
  EXPECT_NEAR(relative_median_error(samples),
              std::sqrt(std::numbers::pi / 2) * deviation / std::sqrt(13) / 100, 1e-15);
  EXPECT_EQ(relative_median_error(std::vector<double>{7}), 0);
}

TEST(MedianError, IsDoubtedLessWithMoreSamples) {
  const std::vector<double> four = {9, 11, 9, 11};
  std::vector<double> sixteen;
  for (int i = 0; i < 4; ++i) sixteen.insert(sixteen.end(), four.begin(), four.end());
  EXPECT_GT(relative_median_error(four), 1.9 * relative_median_error(sixteen));
}

}  // namespace
}  // namespace sparkbench
