#include "results/record/case_record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(AccuraciesOf, AreOfTheOutputOrOfEachGradient) {
  CaseRecord record;
  EXPECT_TRUE(accuracies_of(record).empty());
  record.gradient_accuracy.emplace();
  const GradientAccuracy& gradients = *record.gradient_accuracy;
  EXPECT_EQ(accuracies_of(record),
            std::vector<const Accuracy*>({&gradients.dq, &gradients.dk, &gradients.dv}));
  record.gradient_accuracy.reset();
  record.accuracy.emplace();
  EXPECT_EQ(accuracies_of(record), std::vector<const Accuracy*>({&*record.accuracy}));
}

TEST(HasAllRowsChecked, CountsTheElementsOfEveryOutput) {
  CaseRecord record = sample_emulated_case();
  EXPECT_TRUE(has_all_rows_checked(record));
  record.accuracy->checked_elements -= 1;
  EXPECT_FALSE(has_all_rows_checked(record));
  record.accuracy.reset();
  EXPECT_FALSE(has_all_rows_checked(record));
  CaseRecord backward = sample_backward_run().cases.at(0);
  EXPECT_TRUE(has_all_rows_checked(backward));
  backward.gradient_accuracy->dv.checked_elements /= 2;
  EXPECT_FALSE(has_all_rows_checked(backward));
}

TEST(HasAllRowsChecked, KnowsOfPackedSequencesAndLayers) {
  CaseRecord record = sample_emulated_case();
  record.problem.total_q = 100;  // a stored run, whose lengths are not read
  record.accuracy->checked_elements = 100 * 2 * 64;
  EXPECT_TRUE(has_all_rows_checked(record));
  record.layer.emplace();
  EXPECT_TRUE(has_all_rows_checked(record));
  record.warnings.push_back({"W-SAMPLED-ROWS", "", 128.0});
  EXPECT_FALSE(has_all_rows_checked(record));
}

TEST(FindAccuracy, IsByTheNameOfTheOutput) {
  const CaseRecord record = sample_backward_run().cases.at(0);
  EXPECT_EQ(find_accuracy(record, "dk"), &record.gradient_accuracy->dk);
  EXPECT_EQ(find_accuracy(record, "o"), nullptr);
  EXPECT_EQ(find_accuracy(CaseRecord(), "dk"), nullptr);
}

TEST(WorstErrorOverUnfused, IsOfTheWorstGradientIfAllKnown) {
  CaseRecord record = sample_backward_run().cases.at(0);
  record.gradient_accuracy->dv.error_over_unfused = 3.0;
  EXPECT_EQ(worst_error_over_unfused(record), 3.0);
  record.gradient_accuracy->dk.error_over_unfused.reset();
  EXPECT_EQ(worst_error_over_unfused(record), std::nullopt);
  EXPECT_EQ(worst_error_over_unfused(CaseRecord()), std::nullopt);
  EXPECT_EQ(worst_error_over_unfused(sample_emulated_case()), 0.54);
}

TEST(FindWarning, IsByItsCode) {
  const CaseRecord record = sample_timed_case();
  EXPECT_EQ(find_warning(record, "W-THROTTLED"), &record.warnings[0]);
  EXPECT_EQ(find_warning(record, "W-NOISY"), nullptr);
}

TEST(BringUpToDate, TakesMetricsFromOutputsThatAreNotFinite) {
  CaseRecord record = sample_emulated_case();
  record.accuracy->rel_l1 = record.accuracy->rel_l2 = 0.0;  // as in old records of NaN outputs
  record.accuracy->nonfinite = 16384;
  bring_up_to_date(record);
  EXPECT_TRUE(std::isnan(record.accuracy->rel_l1));
  EXPECT_TRUE(std::isnan(record.accuracy->cosine_diff));
  EXPECT_FALSE(record.accuracy->error_ratio.has_value());
  EXPECT_FALSE(record.accuracy->lse_max_abs.has_value());
  CaseRecord backward = sample_backward_run().cases.at(0);
  backward.gradient_accuracy->dk.nonfinite = 1;
  bring_up_to_date(backward);
  EXPECT_TRUE(std::isnan(backward.gradient_accuracy->dk.max_abs));
  EXPECT_FALSE(std::isnan(backward.gradient_accuracy->dq.max_abs));
}

TEST(BringUpToDate, TakesTheRatioOfEqualAccumulatorsOnly) {
  for (const Accumulator accumulator : {Accumulator::kFp32, Accumulator::kFp16}) {
    CaseRecord record = sample_emulated_case();
    record.accumulator = accumulator;
    record.accuracy->error_over_unfused.reset();
    bring_up_to_date(record);
    EXPECT_EQ(record.accuracy->error_over_unfused.has_value(), accumulator == Accumulator::kFp32);
    EXPECT_EQ(record.accuracy->error_ratio, 0.54);
  }
}

}  // namespace
}  // namespace sparkbench
