#include "harness/timing/stop_rule.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <vector>

#include "results/study/statistics.h"

namespace sparkbench {
namespace {

// Recorded on an H200, unfused attention forward, milliseconds.
/// batch 1, 16 heads, 8192 x 8192, head_dim 128.
const std::vector<double> kQuiet = {4.65558, 4.66118, 4.65421, 4.66080, 4.65878, 4.65565, 4.65507,
                                    4.65530, 4.66093, 4.66045, 4.65901, 4.65926, 4.65190, 4.65251,
                                    4.65834, 4.66109, 4.65709, 4.66256, 4.65949, 4.65706};
/// batch 2, 8 heads, 512 x 512, head_dim 64: every other sample is slower.
const std::vector<double> kOfTwoKinds = {
    0.03965, 0.03856, 0.03974, 0.03920, 0.03997, 0.03869, 0.03990, 0.03904, 0.03946, 0.03875,
    0.03978, 0.03891, 0.03939, 0.03853, 0.04000, 0.03917, 0.03965, 0.03885, 0.04038, 0.03894};
/// batch 1, 2 heads, 512 x 512, head_dim 128: the later samples are slower.
const std::vector<double> kDrifting = {
    0.01584, 0.01581, 0.01581, 0.01581, 0.01600, 0.01600, 0.01584, 0.01600, 0.01584, 0.01603,
    0.01600, 0.01600, 0.01616, 0.01616, 0.01568, 0.01584, 0.01584, 0.01603, 0.01597, 0.01584};

/// Another sweep: cuDNN's attention forward, batch 1, 32 heads, 16384 x 16384, head_dim 64, causal.
/// The card lowers its clock and raises it again. Each row is a block; an unfused block ran before
/// each.
const std::vector<double> kSwinging = {
    2.331, 2.337, 2.331, 2.334, 2.326, 2.321, 2.317, 2.321, 2.322, 2.321, 2.354, 2.355,
    2.360, 2.355, 2.350, 2.361, 2.350, 2.362, 2.355, 2.360, 2.362, 2.363, 2.355, 2.353,
    2.362, 2.361, 2.362, 2.350, 2.356, 2.355, 2.755, 2.745, 2.633, 2.625, 2.626, 2.621,
    2.621, 2.622, 2.624, 2.607, 2.388, 2.379, 2.384, 2.379, 2.430, 2.449, 2.450, 2.447,
    2.445, 2.450, 2.416, 2.434, 2.434, 2.447, 2.515, 2.566, 2.566, 2.567, 2.589, 2.577};

/// With this limit on the noise.
Method to_noise(double max_noise) {
  Method method;
  method.max_noise = max_noise;
  return method;
}

std::vector<double> repeated(const std::vector<double>& pattern, std::size_t count) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(pattern[i % pattern.size()]);
  return samples;
}

TEST(WhyStop, NeedsTheLeastBlocksSamplesAndTime) {
  Method many;
  many.min_samples = 100;
  EXPECT_FALSE(why_stop(repeated({1.0}, 49), 0.3, {}).has_value());
  EXPECT_FALSE(why_stop(repeated({1.0}, 99), 0.3, many).has_value());
  EXPECT_FALSE(why_stop(repeated({1.0}, 50), 0.2, {}).has_value());
  EXPECT_EQ(why_stop(repeated({1.0}, 50), 0.3, {}), "noise");
}

TEST(WhyStop, IsTheNoiseOfMostSamplesHoweverSoon) {
  EXPECT_EQ(why_stop(repeated({1.0}, 1000), 0.1, {}), "noise");
}

TEST(WhyStop, IsTheTimeHoweverFewTheSamples) {
  EXPECT_EQ(why_stop(repeated({1.0}, 1), 10.0, {}), "time");
  EXPECT_EQ(why_stop(repeated({1.0}, 50), 10.0, {}), "noise");
}

TEST(WhyStop, IsTheirNumberWhenSamplesDoNotSettle) {
  const std::vector<double> pattern = {0.5, 1.5};
  EXPECT_FALSE(why_stop(repeated(pattern, 999), 1.0, {}).has_value());
  EXPECT_EQ(why_stop(repeated(pattern, 1000), 1.0, {}), "samples");
}

TEST(IsSettled, HoldsOfAQuietSeriesWhateverIsAsked) {
  const std::vector<double> samples = repeated(kQuiet, 60);
  EXPECT_TRUE(is_settled(samples, to_noise(0.005)));
  EXPECT_TRUE(is_settled(samples, to_noise(0.0005)));
  EXPECT_EQ(why_stop(samples, 0.4, {}), "noise");
}

TEST(IsSettled, AsksMoreSamplesOfSeriesOfTwoKinds) {
  EXPECT_TRUE(is_settled(repeated(kOfTwoKinds, 60), to_noise(0.005)));
  EXPECT_FALSE(is_settled(repeated(kOfTwoKinds, 60), to_noise(0.0015)));
  EXPECT_TRUE(is_settled(repeated(kOfTwoKinds, 400), to_noise(0.0015)));
}

TEST(IsSettled, SeesTheDriftOfAnOtherwiseQuietSeries) {
  std::vector<double> samples = repeated(kDrifting, 40);
  for (const double sample : kDrifting) samples.push_back(1.02 * sample);
  EXPECT_LE(relative_median_error_of_blocks(samples, 10), 0.006);
  EXPECT_FALSE(is_settled(samples, to_noise(0.006)));
}

TEST(IsSettled, SeesBlocksDifferWhereSamplesSeemToAgree) {
  EXPECT_LE(relative_median_error(std::span(kSwinging).first(20)), 0.005);
  EXPECT_GT(relative_median_error_of_blocks(kSwinging, 10), 0.02);
  EXPECT_FALSE(is_settled(kSwinging, to_noise(0.02)));
  EXPECT_TRUE(is_settled(kSwinging, to_noise(0.04)));
}

TEST(IsSettled, ForgivesAFewOutliers) {
  std::vector<double> samples = repeated({0.999, 1.0, 1.001}, 60);
  samples[7] = samples[20] = 40.0;
  EXPECT_TRUE(is_settled(samples, to_noise(0.005)));
}

TEST(IsSettled, DoesNotTakeASteadyFallForQuiet) {
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back(1.0 + 5e-5 * i);
  EXPECT_FALSE(is_settled(samples, to_noise(0.005)));
}

TEST(IsSettled, IsFalseForNanAndForNothing) {
  EXPECT_FALSE(
      is_settled(repeated({std::numeric_limits<double>::quiet_NaN()}, 60), to_noise(0.005)));
  EXPECT_FALSE(is_settled({}, to_noise(0.005)));
}

}  // namespace
}  // namespace sparkbench
