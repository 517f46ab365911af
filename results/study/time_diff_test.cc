#include "results/study/case_diff.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

constexpr int kSamples = 50, kBlock = 10;

/// Samples around `median_ms`, evenly spread by +- `spread` of it, at that clock.
CaseRecord timed_case(double median_ms, double spread, double clock_mhz) {
  CaseRecord record = sample_timed_case();
  record.status = Status::kOk;
  record.time_ms->samples.clear();
  for (int i = 0; i < kSamples; ++i) {
    const double place = 2.0 * (i * 7 % kSamples) / (kSamples - 1) - 1;
    record.time_ms->samples.push_back(median_ms * (1 + spread * place));
  }
  record.time_ms->median = median_ms;
  record.clock_mhz->samples.assign(kSamples, clock_mhz);
  return record;
}

CaseFinding compare(const CaseRecord& first, const CaseRecord& second, DiffRules rules = {}) {
  CaseDiff diff;
  return compare_times({&first, kBlock}, {&second, kBlock}, rules, diff);
}

Verdict verdict_of(const CaseRecord& first, const CaseRecord& second) {
  return compare(first, second).verdict;
}

const CaseRecord kFirst = timed_case(1, 0.005, 1500);

TEST(TimeDiff, NeedsBothTimeAndCycles) {
  EXPECT_EQ(verdict_of(kFirst, timed_case(1.04, 0.005, 1500)), Verdict::kSlow);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1 / 1.04, 0.005, 1500)), Verdict::kFast);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1.04, 0.005, 1500 / 1.04)), Verdict::kClock);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1 / 1.04, 0.005, 1500 * 1.04)), Verdict::kClock);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1, 0.005, 1500 * 1.04)), Verdict::kClock);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1.005, 0.005, 1500)), Verdict::kSame);
}

TEST(TimeDiff, FindsFourPercentBehindAFasterClock) {
  EXPECT_EQ(verdict_of(kFirst, timed_case(1.04 / 1.02, 0.005, 1500 * 1.02)), Verdict::kSlow);
  EXPECT_EQ(verdict_of(kFirst, timed_case(1.04 / 0.98, 0.005, 1500 * 0.98)), Verdict::kSlow);
}

TEST(TimeDiff, IsAmbiguousWhereTheDoubtIsLarge) {
  const CaseFinding finding = compare(timed_case(1, 0.3, 1500), timed_case(1.03, 0.3, 1500));
  EXPECT_EQ(finding.verdict, Verdict::kAmbiguous);
  EXPECT_NE(finding.why.find("the doubt is"), std::string::npos) << finding.why;
  EXPECT_EQ(verdict_of(timed_case(1, 0.3, 1500), timed_case(1, 0.3, 1500)), Verdict::kAmbiguous);
}

TEST(TimeDiff, DoubtsBlocksThatLieApart) {
  CaseRecord swinging = kFirst;
  for (int i = 0; i < kSamples; ++i) {
    swinging.time_ms->samples[static_cast<std::size_t>(i)] = 1 + 0.05 * (i / kBlock % 2);
  }
  CaseDiff blocks, samples;
  compare_times({&swinging, kBlock}, {&kFirst, kBlock}, {}, blocks);
  compare_times({&swinging, std::nullopt}, {&kFirst, std::nullopt}, {}, samples);
  EXPECT_GT(blocks.time->doubt, 2 * samples.time->doubt);
}

TEST(TimeDiff, WithoutClocksIsNeverSlowUnlessTold) {
  CaseRecord slower = timed_case(1.5, 0.005, 1500);
  slower.clock_mhz.reset();
  EXPECT_EQ(compare(kFirst, slower).why, "no clock reading in the second run");
  EXPECT_EQ(verdict_of(kFirst, slower), Verdict::kAmbiguous);
  EXPECT_EQ(compare(slower, slower).verdict, Verdict::kSame);
  EXPECT_EQ(compare(kFirst, slower, {.by_time_alone = true}).verdict, Verdict::kSlow);
}

TEST(TimeDiff, LeavesOutSamplesWithoutAClock) {
  CaseRecord second = timed_case(1.04, 0.005, 1500);
  for (std::size_t i = 0; i < kSamples; i += 2) second.clock_mhz->samples[i].reset();
  EXPECT_EQ(verdict_of(kFirst, second), Verdict::kSlow);
}

TEST(TimeDiff, ComparesValidTimesAlone) {
  CaseRecord invalid = kFirst;
  invalid.valid = false;
  EXPECT_EQ(verdict_of(invalid, invalid), Verdict::kSame);
  EXPECT_EQ(compare(invalid, kFirst).why, "no valid time in the first run");
  CaseRecord untimed = kFirst;
  untimed.time_ms.reset();
  EXPECT_EQ(verdict_of(kFirst, untimed), Verdict::kAmbiguous);
}

TEST(TimeDiff, KeepsTheRatiosAndTheirDoubt) {
  const CaseRecord second = timed_case(1.5, 0.005, 1000);
  CaseDiff diff;
  compare_times({&kFirst, kBlock}, {&second, kBlock}, {}, diff);
  EXPECT_NEAR(diff.time.value().value, 1.5, 1e-3);
  EXPECT_NEAR(diff.cycles.value().value, 1.0, 1e-3);
  EXPECT_GT(diff.time->doubt, 0.009);
  EXPECT_LT(diff.time->doubt, 0.012);
}

}  // namespace
}  // namespace sparkbench
