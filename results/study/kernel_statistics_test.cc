#include "results/study/kernel_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord timed(double ratio, std::optional<double> stdev) {
  CaseRecord record = sample_timed_case();
  record.speedup = Speedup{"cublas-fp16", ratio, stdev};
  return record;
}

TEST(GeometricMean, IsTheRootOfTheProduct) {
  EXPECT_NEAR(geometric_mean({2.0, 8.0}).value(), 4.0, 1e-12);
  EXPECT_NEAR(geometric_mean({3.0}).value(), 3.0, 1e-12);
}

TEST(GeometricMean, DoesNotExistForNothingOrTheNonpositive) {
  EXPECT_FALSE(geometric_mean({}).has_value());
  EXPECT_FALSE(geometric_mean({1.0, 0.0}).has_value());
  EXPECT_FALSE(geometric_mean({1.0, -1.0}).has_value());
  EXPECT_FALSE(geometric_mean({1.0, std::numeric_limits<double>::quiet_NaN()}).has_value());
  EXPECT_FALSE(geometric_mean({std::numeric_limits<double>::infinity()}).has_value());
}

TEST(Largest, IsNanWhereThereIsOne) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(largest({}).has_value());
  EXPECT_EQ(largest({1.0, 3.0, 2.0}), 3.0);
  EXPECT_TRUE(std::isnan(largest({1.0, nan, 2.0}).value()));
  EXPECT_TRUE(std::isnan(largest({nan, 1.0}).value()));
}

TEST(WorstRelL1, IsTheOutputsOrTheWorstGradients) {
  EXPECT_FALSE(worst_rel_l1(CaseRecord()).has_value());
  EXPECT_EQ(worst_rel_l1(sample_emulated_case()), 3.5e-4);
  CaseRecord backward = sample_backward_run().cases.at(0);
  EXPECT_EQ(worst_rel_l1(backward), 8e-4);
  backward.gradient_accuracy->dv.rel_l1 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(worst_rel_l1(backward).value()));
}

TEST(KernelsOf, ListsEachOnceInOrder) {
  EXPECT_EQ(kernels_of(sample_run().cases, Role::kFused),
            std::vector<std::string>({"volta-fp32acc", "volta-fp16acc"}));
  EXPECT_EQ(kernels_of(sample_run().cases, Role::kReference),
            std::vector<std::string>({"unfused-fp16"}));
}

TEST(MeanSpeedup, CarriesTheDoubtOfItsRatios) {
  const SpeedupMean mean =
      mean_speedup({timed(2.0, 0.02), timed(8.0, 0.08)}, "volta-fp32acc").value();
  EXPECT_EQ(mean.over, "cublas-fp16");
  EXPECT_EQ(mean.count, 2);
  EXPECT_NEAR(mean.ratio, 4.0, 1e-12);
  EXPECT_NEAR(mean.stdev.value(), 4.0 * 0.01 * std::sqrt(2.0) / 2, 1e-12);
  EXPECT_FALSE(mean_speedup({timed(2.0, 0.02), timed(8.0, std::nullopt)}, "volta-fp32acc")
                   .value()
                   .stdev.has_value());
}

TEST(MeanSpeedup, LeavesOutInvalidTimesAndIncorrectCases) {
  CaseRecord invalid = timed(100.0, 0.0);
  invalid.valid = false;
  CaseRecord incorrect = timed(100.0, 0.0);
  incorrect.status = Status::kIncorrect;
  EXPECT_FALSE(mean_speedup({invalid, incorrect}, "volta-fp32acc").has_value());
  EXPECT_EQ(mean_speedup({invalid, incorrect, timed(2.0, 0.0)}, "volta-fp32acc").value().count, 1);
  EXPECT_FALSE(mean_speedup({timed(2.0, 0.0)}, "another").has_value());
}

TEST(MeanError, ComparesWithTheReferenceOnTheSameProblems) {
  const ErrorMean mean = mean_error(sample_run().cases, "volta-fp16acc").value();
  EXPECT_EQ(mean.over, "unfused-fp16");
  EXPECT_NEAR(mean.ratio, 2.0, 1e-12);
  EXPECT_EQ(mean.count, 2);
  EXPECT_FALSE(mean_error(sample_run().cases, "another").has_value());
}

TEST(MeanError, ComparesTheWorstGradients) {
  std::vector<CaseRecord> cases = sample_backward_run().cases;
  for (std::size_t i : {1, 4}) cases[i].gradient_accuracy->dv.rel_l1 *= 100.0;
  // dv of the kernel, 2 * 100 / 2 times the reference's dq, over the reference's dk, 2 times its
  // dq.
  EXPECT_NEAR(mean_error(cases, "volta-fp16acc").value().ratio, 50.0, 1e-9);
  EXPECT_NEAR(mean_error_ratio(cases, "volta-fp16acc").value(), 0.9, 1e-12);
}

TEST(MeanError, TakesNoReferenceThatOnlyChecks) {
  std::vector<CaseRecord> cases = sample_run().cases;
  cases[2].accumulator.reset();
  cases[5].accumulator.reset();
  EXPECT_FALSE(mean_error(cases, "volta-fp16acc").has_value());
}

TEST(MeanError, LeavesOutProblemsWithoutAnyError) {
  std::vector<CaseRecord> cases = sample_run().cases;
  cases[1].accuracy->rel_l1 = cases[2].accuracy->rel_l1 = 0.0;
  EXPECT_EQ(mean_error(cases, "volta-fp16acc").value().count, 1);
}

TEST(MeanErrorRatio, IsOfTheCorrectCases) {
  EXPECT_NEAR(mean_error_ratio(sample_run().cases, "volta-fp16acc").value(), 0.9, 1e-12);
  EXPECT_FALSE(mean_error_ratio(sample_run().cases, "another").has_value());
}

TEST(MeanErrorRatio, LeavesOutCasesWithoutAnyError) {
  CaseRecord exact = sample_emulated_case();
  exact.accuracy->error_ratio = 0.0;
  EXPECT_FALSE(mean_error_ratio({exact}, "volta-fp32acc").has_value());
  EXPECT_NEAR(mean_error_ratio({exact, sample_emulated_case()}, "volta-fp32acc").value(), 0.54,
              1e-12);
}

}  // namespace
}  // namespace sparkbench
