#include "results/study/run_diff.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

/// A run of one case whose samples are all equal.
RunRecord diffed_run(double ms, double clock_mhz = 1500) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case()};
  run.cases[0].status = Status::kOk;
  run.cases[0].time_ms->median = ms;
  run.cases[0].time_ms->samples = {ms, ms, ms};
  run.cases[0].clock_mhz->samples = {clock_mhz, clock_mhz, clock_mhz};
  return run;
}

TEST(RunDiff, PairsCasesByIdAndSeed) {
  const RunRecord first = diffed_run(1);
  RunRecord second = first;
  EXPECT_EQ(count_of(diff_runs(first, second, {}).cases, Verdict::kSame), 1u);
  second.cases[0].problem.seed = 1;
  const std::vector<CaseDiff> diffs = diff_runs(first, second, {}).cases;
  ASSERT_EQ(diffs.size(), 2u);
  EXPECT_TRUE(diffs[0].has(Verdict::kMissing));
  EXPECT_TRUE(diffs[1].has(Verdict::kNew));
}

TEST(RunDiff, AveragesTimesAndCycles) {
  const MeanRatios means =
      mean_ratios(diff_runs(diffed_run(2, 1500), diffed_run(3, 1000), {}).cases);
  EXPECT_DOUBLE_EQ(means.time.value(), 1.5);
  EXPECT_DOUBLE_EQ(means.cycles.value(), 1);
  EXPECT_FALSE(mean_ratios({}).time.has_value());
  RunRecord without_clock = diffed_run(3);
  without_clock.cases[0].clock_mhz.reset();
  EXPECT_FALSE(mean_ratios(diff_runs(diffed_run(2), without_clock, {}).cases).cycles.has_value());
}

TEST(RunDiff, HasANextStepForEveryVerdict) {
  for (const Verdict verdict : all_verdicts()) EXPECT_NE(next_step(verdict), "");
}

TEST(RunDiff, BeginsWithTheSlowest) {
  const auto slow_case = [](const std::string& id, double ratio) {
    return CaseDiff{.id = id, .findings = {{Verdict::kSlow, ""}}, .time = MedianRatio{ratio, 0.01}};
  };
  const std::vector<CaseDiff> diffs = {slow_case("a", 1.1), slow_case("b", 1.3),
                                       slow_case("c", 1.2)};
  EXPECT_EQ(worst_of(diffs, Verdict::kSlow)->id, "b");
  EXPECT_EQ(worst_of(diffs, Verdict::kFast), nullptr);
}

}  // namespace
}  // namespace sparkbench
