#include "results/study/prediction_check.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord measured_at(double ms, const std::string& id = "a") {
  CaseRecord record = sample_predicted_case();
  record.id = id;
  record.time_ms->median = ms;
  return record;
}

TEST(PredictionCheck, IsOfTheMedianOverTheLikelyTime) {
  const PredictionCheck check = check_prediction(sample_predicted_case()).value();
  EXPECT_DOUBLE_EQ(check.ratio, 0.824 / 0.8);
  EXPECT_TRUE(check.is_in_band);
  EXPECT_TRUE(check_prediction(measured_at(0.7))->is_in_band);
  EXPECT_FALSE(check_prediction(measured_at(0.69))->is_in_band);
  EXPECT_FALSE(check_prediction(measured_at(1.01))->is_in_band);
}

TEST(PredictionCheck, NeedsATimeAndAPrediction) {
  EXPECT_FALSE(check_prediction(sample_timed_case()).has_value());
  CaseRecord untimed = sample_predicted_case();
  untimed.time_ms.reset();
  EXPECT_FALSE(check_prediction(untimed).has_value());
  CaseRecord invalid = sample_predicted_case();
  invalid.valid = false;
  EXPECT_FALSE(check_prediction(invalid).has_value());
  CaseRecord incorrect = sample_predicted_case();
  incorrect.status = Status::kIncorrect;
  EXPECT_FALSE(check_prediction(incorrect).has_value());
}

TEST(PredictionSummary, TellsTheBasesApart) {
  CaseRecord reference = measured_at(1.6, "c");
  reference.predicted->basis = std::string(kPredictedByRates);
  const auto summaries =
      summarize_predictions({measured_at(0.4, "a"), measured_at(0.9, "b"), reference});
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].basis, "cycle model");
  EXPECT_EQ(summaries[0].count, 2);
  EXPECT_EQ(summaries[0].in_band, 1);
  EXPECT_NEAR(summaries[0].mean, 0.75, 1e-12);  // of 1/2 and 9/8
  EXPECT_DOUBLE_EQ(summaries[0].least, 0.5);
  EXPECT_DOUBLE_EQ(summaries[0].most, 1.125);
  EXPECT_EQ(summaries[0].furthest, "a");
  EXPECT_EQ(summaries[1].basis, "published rates");
  EXPECT_DOUBLE_EQ(summaries[1].mean, 2);
  EXPECT_EQ(describe(summaries[0]),
            "measured over predicted (cycle model): 0.750 (geometric mean of 2 cases, 0.500 to "
            "1.12), 1 within the band; furthest off is a (0.500)");
}

TEST(PredictionSummary, OfNothingMeasuredIsEmpty) {
  EXPECT_TRUE(summarize_predictions({sample_timed_case()}).empty());
  EXPECT_TRUE(summarize_predictions({}).empty());
}

}  // namespace
}  // namespace sparkbench
