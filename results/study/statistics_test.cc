#include "results/study/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace sparkbench {
namespace {

/// Three quarters of a standard normal distribution are below it.
double normal_quartile() {
  double below = 0, above = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (below + above) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < 0.75 ? below : above) = middle;
  }
  return below;
}

TEST(Statistics, TakeTheMedianWhereThereIsOne) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_THROW(median_of({}), std::invalid_argument);
}

TEST(Statistics, OfFiveSamplesAreThoseComputedByHand) {
  const std::vector<double> samples = {5, 1, 4, 2, 3};
  const TimeMs time = summarize_samples(samples);
  EXPECT_EQ(time.median, 3);
  EXPECT_EQ(time.mean, 3);
  EXPECT_EQ(time.min, 1);
  EXPECT_EQ(time.max, 5);
  EXPECT_EQ(time.q1, 2);
  EXPECT_EQ(time.q3, 4);
  EXPECT_DOUBLE_EQ(time.stdev, std::sqrt(2.5));
  EXPECT_EQ(time.samples, samples);
}

TEST(Statistics, InterpolateTheMedianOfAnEvenCount) {
  EXPECT_EQ(summarize_samples(std::vector<double>{1, 2, 4, 8}).median, 3);
}

TEST(Statistics, OfOneSampleHaveNoDeviation) {
  const TimeMs time = summarize_samples(std::vector<double>{2.5});
  EXPECT_EQ(time.median, 2.5);
  EXPECT_EQ(time.stdev, 0);
  EXPECT_EQ(relative_deviation(time.samples), 0);
}

TEST(Statistics, RefuseAnEmptySeries) {
  EXPECT_THROW(summarize_samples({}), std::invalid_argument);
}

TEST(Statistics, MeasureADriftByTheHalvesMedians) {
  EXPECT_DOUBLE_EQ(relative_drift(std::vector<double>{1, 1, 1, 2, 2, 2}), 1 / 1.5);
  EXPECT_DOUBLE_EQ(relative_drift(std::vector<double>{4, 3, 2}), 2.0 / 3);
  EXPECT_EQ(relative_drift(std::vector<double>{5, 7, 7, 5}), 0);
  EXPECT_EQ(relative_drift(std::vector<double>{5}), 0);
}

TEST(MedianError, ComesFromTheQuartiles) {
  const std::vector<double> samples = {99, 101, 99, 101, 100, 100, 100, 100, 99, 101, 99, 101, 100};
  const double deviation = 2 / (2 * normal_quartile());
  EXPECT_NEAR(relative_median_error(samples),
              std::sqrt(std::numbers::pi / 2) * deviation / std::sqrt(13) / 100, 1e-15);
  EXPECT_EQ(relative_median_error(std::vector<double>{7}), 0);
}

TEST(MedianError, FallsWithMoreSamples) {
  const std::vector<double> four = {9, 11, 9, 11};
  std::vector<double> sixteen;
  for (int i = 0; i < 4; ++i) sixteen.insert(sixteen.end(), four.begin(), four.end());
  EXPECT_GT(relative_median_error(four), 1.9 * relative_median_error(sixteen));
}

}  // namespace
}  // namespace sparkbench
