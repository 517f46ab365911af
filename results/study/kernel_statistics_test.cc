#include "results/study/kernel_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

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

TEST(MeanErrorOverUnfused, IsOfTheCorrectCases) {
  const ErrorMean mean = mean_error_over_unfused(sample_run().cases, "volta-fp16acc").value();
  EXPECT_NEAR(mean.ratio, 2.0, 1e-12);
  EXPECT_EQ(mean.count, 2);
  EXPECT_EQ(mean.without, 0);
  EXPECT_FALSE(mean_error_over_unfused(sample_run().cases, "another").has_value());
}

TEST(MeanErrorOverUnfused, IsThatOfTheWorstGradients) {
  std::vector<CaseRecord> cases = sample_backward_run().cases;
  for (std::size_t i : {1, 4}) cases[i].gradient_accuracy->dv.error_over_unfused = 50.0;
  EXPECT_NEAR(mean_error_over_unfused(cases, "volta-fp16acc").value().ratio, 50.0, 1e-9);
}

TEST(MeanLayerError, IsOfTheAttentionAndOfTheWorstPart) {
  CaseRecord layer = sample_emulated_case();
  EXPECT_FALSE(mean_layer_error({layer}, "volta-fp32acc").has_value());
  layer.layer.emplace();
  layer.layer->errors = {{.of = "output", .over_unfused = 0.6},
                         {.of = "mha", .over_unfused = 1.6},
                         {.of = "dW1", .over_unfused = 1.9}};
  CaseRecord other = layer;
  other.layer->errors[1].over_unfused = 0.4;
  const LayerErrorMean mean = mean_layer_error({layer, other}, "volta-fp32acc").value();
  EXPECT_NEAR(mean.attention, 0.8, 1e-12);
  EXPECT_EQ(mean.most, 1.9);
}

TEST(MeanErrorOverUnfused, CountsCasesWithoutAny) {
  std::vector<CaseRecord> cases = sample_run().cases;
  cases[1].accuracy->error_over_unfused.reset();
  const ErrorMean mean = mean_error_over_unfused(cases, "volta-fp16acc").value();
  EXPECT_EQ(mean.count, 1);
  EXPECT_EQ(mean.without, 1);
}

TEST(MeanErrorOverUnfused, LeavesOutCasesWithoutAnyError) {
  CaseRecord exact = sample_emulated_case();
  exact.accuracy->error_over_unfused = 0.0;
  EXPECT_FALSE(mean_error_over_unfused({exact}, "volta-fp32acc").has_value());
  EXPECT_NEAR(
      mean_error_over_unfused({exact, sample_emulated_case()}, "volta-fp32acc").value().ratio, 0.54,
      1e-12);
}

}  // namespace
}  // namespace sparkbench
