#include "results/study/median_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

TEST(MedianError, TakesTheMedianWhereThereIsOne) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_THROW(median_of({}), std::invalid_argument);
}

TEST(MedianError, IsDoubtedByTheQuartiles) {
  const std::vector<double> samples = {99, 101, 99, 101, 100, 100, 100, 100, 99, 101, 99, 101, 100};
  EXPECT_NEAR(relative_median_error(samples), 1.2533 * (2 / 1.349) / std::sqrt(13) / 100, 1e-12);
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
