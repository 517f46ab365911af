#include "results/study/fastest_kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord timed(const std::string& kernel, int seqlen, double ms) {
  CaseRecord record = sample_timed_case();
  record.kernel = kernel;
  record.problem.seqlen_q = record.problem.seqlen_k = seqlen;
  record.time_ms->median = ms;
  record.time_ms->samples = {ms * 0.99, ms * 0.99, ms, ms, ms, ms * 1.01, ms * 1.01};
  record.speedup = Speedup{"cublas-fp16", 2, std::nullopt};
  return record;
}

CaseRecord predicted(const std::string& kernel, double low, double likely, double high) {
  CaseRecord record = sample_emulated_case();
  record.kernel = kernel;
  record.predicted = sample_predicted_case().predicted;
  record.predicted->time_ms = {low, likely, high};
  return record;
}

RunRecord run_of(std::vector<CaseRecord> cases) {
  RunRecord run;
  run.cases = std::move(cases);
  run.run.complete = true;
  return run;
}

TEST(Fastest, LeadsByTheGeometricMeanOverItsProblems) {
  // 2 and 4.5 times as fast: the geometric mean is 3.
  const auto found = find_fastest(
      run_of({timed("a", 128, 1), timed("b", 128, 2), timed("a", 256, 2), timed("b", 256, 9)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_TRUE(found[0].is_measured);
  EXPECT_EQ(found[0].problems, 2);
  ASSERT_EQ(found[0].rivals.size(), 1u);
  EXPECT_EQ(found[0].rivals[0].lead.over, "b");
  EXPECT_NEAR(found[0].rivals[0].lead.likely, 3, 1e-12);
  EXPECT_NEAR(*found[0].rivals[0].error_ratio, 1, 1e-12);
  EXPECT_NEAR(*found[0].worst_rel_l1, 3.5e-4, 1e-12);
  EXPECT_NEAR(*found[0].error_over_unfused, 0.54, 1e-12);
}

TEST(Fastest, DoubtsByThreeStandardErrorsAndFromRunToRun) {
  const auto found = find_fastest(run_of({timed("a", 128, 1), timed("b", 128, 2)}));
  // The quartiles of the seven samples are 0.995 and 1.005 of the median (median_error.h).
  const double error = 1.2533141373155003 * (0.01 / 1.3489795003921634) / std::sqrt(7.0);
  const double doubt = 3 * std::hypot(std::hypot(error, error), 0.003);
  EXPECT_NEAR(*found[0].rivals[0].lead.low, 2 / (1 + doubt), 1e-9);
  EXPECT_NEAR(*found[0].rivals[0].lead.high, 2 * (1 + doubt), 1e-9);
}

TEST(Fastest, IsNeverWrongOrFailedOnceOfItsPass) {
  std::vector<CaseRecord> cases = {timed("a", 128, 1), timed("b", 128, 2), timed("a", 256, 1)};
  cases[2].status = Status::kIncorrect;
  EXPECT_EQ(find_fastest(run_of(cases))[0].kernel, "b");
  cases[2].status = Status::kFailed;
  EXPECT_EQ(find_fastest(run_of(cases))[0].kernel, "b");
  cases[2].problem.pass = Pass::kBackward;
  EXPECT_EQ(find_fastest(run_of(cases))[0].kernel, "a");
}

TEST(Fastest, IsNotTakenFromInvalidTimes) {
  std::vector<CaseRecord> cases = {timed("a", 128, 1), timed("b", 128, 2)};
  cases[0].valid = false;
  const auto found = find_fastest(run_of(cases));
  EXPECT_EQ(found[0].kernel, "b");
  EXPECT_TRUE(found[0].rivals.empty());
}

TEST(Fastest, IsOfTheProblemsThatAllShare) {
  // b ran on one more problem, but on the shared ones a is twice as fast.
  const auto found =
      find_fastest(run_of({timed("a", 128, 1), timed("b", 128, 2), timed("b", 256, 0.1)}));
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_EQ(found[0].problems, 1);
  EXPECT_EQ(found[0].all_problems, 2);
  EXPECT_NEAR(found[0].rivals[0].lead.likely, 2, 1e-12);
}

TEST(Fastest, IsNobodyOnUnlikeProblems) {
  const auto found = find_fastest(run_of({timed("a", 128, 1), timed("b", 256, 2)}));
  EXPECT_EQ(found[0].kernel, "");
  EXPECT_EQ(found[0].why_none, "the kernels ran on no problem that all of them share");
}

TEST(Fastest, IsNotComparedWithAKernelOfFewProblems) {
  std::vector<CaseRecord> cases;
  for (const int seqlen : {128, 256, 512}) {
    cases.push_back(timed("a", seqlen, 2));
    cases.push_back(timed("b", seqlen, 3));
  }
  cases.push_back(timed("c", 128, 1));
  const auto found = find_fastest(run_of(cases));
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_EQ(found[0].problems, 3);
  EXPECT_EQ(found[0].left_out, std::vector<std::string>({"c"}));
}

TEST(Fastest, OfAStoppedRunHasARivalOrIsNone) {
  RunRecord run = run_of({timed("a", 128, 1)});
  EXPECT_EQ(find_fastest(run)[0].kernel, "a");
  run.run.complete = false;
  EXPECT_EQ(find_fastest(run)[0].why_none,
            "the run was stopped before another kernel had a result");
  run.cases.push_back(timed("b", 128, 2));
  EXPECT_EQ(find_fastest(run)[0].kernel, "a");
  EXPECT_FALSE(find_fastest(run)[0].is_complete);
}

TEST(Fastest, IsNobodyWhereNothingWasChecked) {
  std::vector<CaseRecord> cases = {timed("a", 128, 1), timed("b", 128, 2)};
  for (CaseRecord& record : cases) record.status = Status::kUnverified;
  EXPECT_EQ(find_fastest(run_of(cases))[0].why_none, "no result was checked");
  cases = {predicted("a", 0.7, 0.8, 1.0), predicted("b", 0.8, 0.88, 1.1)};
  for (CaseRecord& record : cases) record.status = Status::kPredicted;
  EXPECT_TRUE(find_fastest(run_of(cases))[0].nothing_ran);
  EXPECT_EQ(find_fastest(run_of(cases))[0].kernel, "a");
  cases[1].status = Status::kOk;
  EXPECT_FALSE(find_fastest(run_of(cases))[0].nothing_ran);
  EXPECT_EQ(find_fastest(run_of(cases))[0].kernel, "b") << "what ran counts where anything did";
}

CaseRecord baseline(double ms) {
  CaseRecord record = timed("cublas-fp16", 128, ms);
  record.role = Role::kReference;
  record.speedup.reset();
  return record;
}

TEST(Fastest, SetsTheBaseBesideTheNext) {
  const auto found = find_fastest(run_of({timed("a", 128, 1), timed("b", 128, 2), baseline(8)}));
  EXPECT_EQ(found[0].rivals[0].lead.over, "b");
  ASSERT_TRUE(found[0].over_base);
  EXPECT_EQ(found[0].over_base->over, "cublas-fp16");
  EXPECT_NEAR(found[0].over_base->likely, 8, 1e-12);
  EXPECT_FALSE(found[0].is_baseline);
}

TEST(Fastest, MayBeTheBaseline) {
  const auto found = find_fastest(run_of({timed("a", 128, 2), baseline(1)}));
  EXPECT_EQ(found[0].kernel, "cublas-fp16");
  EXPECT_TRUE(found[0].is_baseline);
  EXPECT_FALSE(found[0].over_base);
}

TEST(Fastest, TellsMemoryWhereTheUnfusedComputationTakesMost) {
  std::vector<CaseRecord> cases = {timed("a", 128, 1), timed("a", 256, 1)};
  cases[0].memory_bytes = MemoryBytes{.peak = 7, .unfused = 70};
  cases[1].memory_bytes = MemoryBytes{.peak = std::nullopt, .predicted = 9, .unfused = 90};
  const auto found = find_fastest(run_of(cases));
  ASSERT_TRUE(found[0].memory);
  EXPECT_EQ(found[0].memory->kernel, 9u);
  EXPECT_EQ(found[0].memory->unfused, 90u);
}

TEST(Fastest, GoesByPredictionsWhereNothingIsTimed) {
  const auto found =
      find_fastest(run_of({predicted("a", 0.7, 0.8, 1.0), predicted("b", 0.8, 0.88, 1.1)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_FALSE(found[0].is_measured);
  EXPECT_EQ(found[0].chip, "V100-SXM2");
  EXPECT_NEAR(found[0].rivals[0].lead.likely, 1.1, 1e-12);
  EXPECT_NEAR(*found[0].rivals[0].lead.low, 0.8, 1e-12);  // 0.8 / 1.0
  EXPECT_NEAR(*found[0].rivals[0].lead.high, 1.1 / 0.7, 1e-12);
  EXPECT_NEAR(found[0].over_base->likely, 7.25, 1e-12);
  EXPECT_NEAR(*found[0].over_base->low, 5.5, 1e-12);
}

TEST(Fastest, GoesByTimesWhereThereAreAny) {
  const auto found = find_fastest(run_of({timed("a", 128, 1), predicted("b", 0.07, 0.08, 0.1)}));
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_TRUE(found[0].is_measured);
}

TEST(Fastest, IsNamedForEachPass) {
  std::vector<CaseRecord> cases = {timed("a", 128, 1), timed("b", 128, 2)};
  cases[1].problem.pass = Pass::kBackward;
  const auto found = find_fastest(run_of(cases));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kernel, "a");
  EXPECT_EQ(found[1].kernel, "b");
  EXPECT_EQ(found[1].pass, Pass::kBackward);
}

TEST(Fastest, IsNoneOfNothing) { EXPECT_TRUE(find_fastest(RunRecord()).empty()); }

}  // namespace
}  // namespace sparkbench
