#include "results/study/run_diff.h"

#include <gtest/gtest.h>

#include <numeric>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

/// A run of one case with samples around `median_ms`, evenly spread by +- `spread` of it.
RunRecord timed_run(double median_ms, double spread, int count = 41) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case()};
  TimeMs& time = run.cases[0].time_ms.value();
  time.median = median_ms;
  time.samples.clear();
  for (int i = 0; i < count; ++i) {
    time.samples.push_back(median_ms * (1 + spread * (2.0 * i / (count - 1) - 1)));
  }
  return run;
}

Verdict verdict_of(const RunRecord& first, const RunRecord& second) {
  const std::vector<CaseDiff> diffs = diff_runs(first, second, 0.01);
  EXPECT_EQ(diffs.size(), 1u);
  return diffs.at(0).verdict;
}

TEST(MedianInterval, IsAtLeastThatOfTheBinomialDistribution) {
  // Of 20 samples the 6th to the 15th hold it with 95.9 % (binomial distribution).
  std::vector<double> samples(20);
  std::iota(samples.begin(), samples.end(), 1.0);
  const Interval interval = median_interval(samples);
  EXPECT_LE(interval.low, 6.0);
  EXPECT_GE(interval.high, 15.0);
  EXPECT_EQ(interval.low + interval.high, 21.0);
}

TEST(MedianInterval, OfFewSamplesIsAllOfThem) {
  EXPECT_EQ(median_interval({3.0}).low, 3.0);
  EXPECT_EQ(median_interval({5, 1, 3}).low, 1.0);
  EXPECT_EQ(median_interval({5, 1, 3}).high, 5.0);
}

TEST(RunDiff, TellsFastFromSlowBeyondTheDoubt) {
  EXPECT_EQ(verdict_of(timed_run(1.0, 0.01), timed_run(0.9, 0.01)), Verdict::kFast);
  EXPECT_EQ(verdict_of(timed_run(1.0, 0.01), timed_run(1.1, 0.01)), Verdict::kSlow);
  EXPECT_EQ(verdict_of(timed_run(1.0, 0.001), timed_run(1.005, 0.001)), Verdict::kSame);
  EXPECT_EQ(verdict_of(timed_run(1.0, 0.3), timed_run(1.02, 0.3)), Verdict::kAmbiguous);
}

TEST(RunDiff, GivesTheMediansRatioWithItsInterval) {
  const CaseDiff diff = diff_runs(timed_run(2.0, 0.01), timed_run(3.0, 0.01), 0.01).at(0);
  EXPECT_EQ(diff.ratio.value(), 1.5);
  EXPECT_LT(diff.ratio_interval.value().low, 1.5);
  EXPECT_GT(diff.ratio_interval->high, 1.5);
  EXPECT_EQ(mean_ratio({diff}).value(), 1.5);
  EXPECT_FALSE(mean_ratio({}).has_value());
}

TEST(RunDiff, FindsWhatIsIncorrectMissingAndNew) {
  const RunRecord good = timed_run(1.0, 0.01);
  RunRecord bad = good;
  bad.cases[0].status = Status::kIncorrect;
  EXPECT_EQ(verdict_of(good, bad), Verdict::kIncorrect);
  bad.cases[0].status = Status::kFailed;
  EXPECT_EQ(verdict_of(good, bad), Verdict::kMissing);
  EXPECT_EQ(verdict_of(bad, good), Verdict::kNew);
  EXPECT_EQ(verdict_of(bad, bad), Verdict::kSame);
  bad.cases.clear();
  EXPECT_EQ(verdict_of(good, bad), Verdict::kMissing);
  EXPECT_EQ(verdict_of(bad, good), Verdict::kNew);
}

TEST(RunDiff, WithoutTimesIsSameWithOneAmbiguous) {
  RunRecord untimed = timed_run(1.0, 0.01);
  untimed.cases[0].time_ms.reset();
  EXPECT_EQ(verdict_of(untimed, untimed), Verdict::kSame);
  EXPECT_EQ(verdict_of(untimed, timed_run(1.0, 0.01)), Verdict::kAmbiguous);
}

TEST(RunDiff, ShowsWhatDiffersAndHowTheRunsDo) {
  const RunRecord first = timed_run(1.0, 0.001);
  RunRecord second = timed_run(2.0, 0.001);
  second.build.git_sha = "abc";
  const std::string text = format_diff(first, second, diff_runs(first, second, 0.01), false);
  for (const char* const part : {"build.git_sha is null and abc", "1 slow",
                                 "takes 2.000 times as long", "volta-fp32acc/fwd"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(format_diff(first, first, diff_runs(first, first, 0.01), false),
            "1 same; the second run takes 1.000 times as long (geometric mean).\n");
}

}  // namespace
}  // namespace sparkbench
