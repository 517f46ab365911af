#include "harness/timing/stop_rule.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "harness/timing/statistics.h"

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

std::vector<double> repeated(const std::vector<double>& pattern, std::size_t count) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(pattern[i % pattern.size()]);
  return samples;
}

TEST(WhyStop, IsNoReasonBeforeTheLeastNumberOfSamplesAndTheLeastTime) {
  EXPECT_FALSE(why_stop(repeated({1.0}, 19), 0.3, {}).has_value());
  EXPECT_FALSE(why_stop(repeated({1.0}, 20), 0.2, {}).has_value());
  EXPECT_EQ(why_stop(repeated({1.0}, 20), 0.3, {}), "noise");
}

TEST(WhyStop, IsTheNoiseOfTheLargestNumberOfSamplesHoweverSoonTheyAreTaken) {
  EXPECT_EQ(why_stop(repeated({1.0}, 1000), 0.1, {}), "noise");
}

TEST(WhyStop, IsTheTimeHoweverFewTheSamples) {
  EXPECT_EQ(why_stop(repeated({1.0}, 1), 10.0, {}), "time");
  EXPECT_EQ(why_stop(repeated({1.0}, 20), 10.0, {}), "noise");
}

TEST(WhyStop, IsTheNumberOfSamplesWhenTheyDoNotSettle) {
  const std::vector<double> pattern = {0.5, 1.5};
  EXPECT_FALSE(why_stop(repeated(pattern, 999), 1.0, {}).has_value());
  EXPECT_EQ(why_stop(repeated(pattern, 1000), 1.0, {}), "samples");
}

TEST(IsSettled, HoldsOfARecordedQuietSeriesWhateverIsAsked) {
  EXPECT_TRUE(is_settled(kQuiet, 0.005));
  EXPECT_TRUE(is_settled(kQuiet, 0.0005));
  EXPECT_EQ(why_stop(kQuiet, 0.4, {}), "noise");
}

TEST(IsSettled, AsksMoreSamplesOfARecordedSeriesOfTwoKindsThanOfAQuietOne) {
  EXPECT_TRUE(is_settled(kOfTwoKinds, 0.005));
  EXPECT_FALSE(is_settled(kOfTwoKinds, 0.0025));
  EXPECT_TRUE(is_settled(repeated(kOfTwoKinds, 100), 0.0025));
}

TEST(IsSettled, SeesTheDriftOfARecordedSeriesThatIsQuietOtherwise) {
  EXPECT_LE(relative_median_error(kDrifting), 0.0035);
  EXPECT_FALSE(is_settled(kDrifting, 0.0035));
  EXPECT_TRUE(is_settled(kDrifting, 0.005));
}

TEST(IsSettled, ForgivesAFewOutliers) {
  std::vector<double> samples = repeated({0.999, 1.0, 1.001}, 30);
  samples[7] = samples[20] = 40.0;
  EXPECT_TRUE(is_settled(samples, 0.005));
}

TEST(IsSettled, DoesNotTakeASteadyFallForQuiet) {
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back(1.0 + 5e-5 * i);
  EXPECT_FALSE(is_settled(samples, 0.005));
}

TEST(IsSettled, IsFalseForWhatIsNotANumberAndForNothing) {
  EXPECT_FALSE(is_settled(repeated({std::numeric_limits<double>::quiet_NaN()}, 30), 0.005));
  EXPECT_FALSE(is_settled({}, 0.005));
}

}  // namespace
}  // namespace sparkbench
