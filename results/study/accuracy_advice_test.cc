#include "results/study/accuracy_advice.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

/// The sample without its skipped, failed and incorrect cases.
RunRecord clean_run() {
  RunRecord run = sample_run();
  run.cases.resize(6);
  return run;
}

RunRecord mixed_run() {
  RunRecord run = clean_run();
  for (const CaseRecord& record : sample_backward_run().cases) run.cases.push_back(record);
  return run;
}

TEST(AccuracyAdvice, ComparesByTheTablesRatio) {
  EXPECT_EQ(format_accuracy_advice(clean_run()),
            "The error of volta-fp32acc is 0.50x, that of volta-fp16acc 2.0x that of the unfused "
            "computation (rel_l2, FP32 accumulators, geometric mean of 2 problems).");
}

TEST(AccuracyAdvice, FollowsTheNumbersAndNotTheNames) {
  RunRecord run = clean_run();
  for (std::size_t i : {0, 3}) std::swap(run.cases[i].accuracy, run.cases[i + 1].accuracy);
  EXPECT_EQ(format_accuracy_advice(run).substr(0, 61),
            "The error of volta-fp16acc is 0.50x, that of volta-fp32acc 2.");
}

TEST(AccuracyAdvice, RefusesAKernelWithAnIncorrectCaseAnywhere) {
  EXPECT_EQ(format_accuracy_advice(sample_run()),
            "Do not use volta-fp16acc: 1 of its 3 verified cases are incorrect. The error of "
            "volta-fp32acc is 0.50x that of the unfused computation (rel_l2, FP32 accumulators, "
            "geometric mean of 2 problems).");
}

TEST(AccuracyAdvice, HasALinePerGradient) {
  const std::string advice = format_accuracy_advice(sample_backward_run());
  EXPECT_EQ(advice.substr(0, 53), "dq, pass bwd: The error of volta-fp32acc is 0.50x, th");
  EXPECT_NE(advice.find("\ndk, pass bwd: The error of volta-fp32acc is 0.50x, that of "
                        "volta-fp16acc 2.0x that of the unfused computation"),
            std::string::npos);
  EXPECT_NE(advice.find("\ndv, pass bwd: "), std::string::npos);
}

TEST(AccuracyAdvice, RefusesAKernelInItsIncorrectPassOnly) {
  RunRecord run = sample_run();
  for (const CaseRecord& record : sample_backward_run().cases) run.cases.push_back(record);
  const std::string advice = format_accuracy_advice(run);
  EXPECT_EQ(advice.substr(0, 48), "o, pass fwd: Do not use volta-fp16acc: 1 of its ");
  EXPECT_EQ(advice.find("Do not use", 48), std::string::npos) << advice;
}

TEST(AccuracyAdvice, SaysWhenThereIsNothingToCompare) {
  EXPECT_EQ(format_accuracy_advice(RunRecord()),
            "Nothing to compare: no fused kernel was verified.");
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) record.accuracy->error_over_unfused.reset();
  EXPECT_EQ(format_accuracy_advice(run), "No kernel's error can be compared in these cases.");
}

TEST(Recommendation, NamesTheKernelItsErrorAndItsOverflow) {
  EXPECT_EQ(format_recommendation(clean_run()),
            "Use volta-fp32acc: 0.50x the unfused computation's error, rel_l1 at most 0.040 % (o); "
            "overflows in none of its 2 cases.");
}

TEST(Recommendation, BoundsNothingWhereRowsWereSampled) {
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) record.accuracy->checked_elements /= 2;
  EXPECT_NE(format_recommendation(run).find(", rel_l1 up to about 0.040 % (o); "),
            std::string::npos);
}

TEST(Recommendation, NamesTheScaleFromWhichTheKernelOverflows) {
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) {
    record.problem.input = "outliers";
    record.problem.input_scale = 1;
  }
  for (const int scale : {64, 16}) {
    run.cases.push_back(run.cases[0]);
    run.cases.back().problem.input_scale = scale;
    run.cases.back().status = Status::kIncorrect;
    run.cases.back().accuracy->nonfinite = 7;
  }
  EXPECT_EQ(format_recommendation(run),
            "Use volta-fp32acc: 0.50x the unfused computation's error, rel_l1 at most 0.040 % (o); "
            "overflows from input_scale 16 on (outliers).");
}

TEST(Recommendation, IsOfTheBestInEveryPass) {
  EXPECT_EQ(format_recommendation(mixed_run()),
            "Use volta-fp32acc: 0.50x the unfused computation's error, rel_l1 at most 0.040 % (o), "
            "0.040 % (dq), 0.080 % (dk), 0.020 % (dv); overflows in none of its 4 cases.");
  RunRecord forward_alone = mixed_run();
  for (const std::size_t i : {6, 9}) forward_alone.cases[i].gradient_accuracy.reset();
  EXPECT_EQ(format_recommendation(forward_alone).substr(0, 19), "Use volta-fp16acc: ");
}

TEST(Recommendation, TakesTheFiniteKernelWhereTheUnfusedOverflows) {
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) {
    record.accuracy->error_over_unfused.reset();
    if (record.kernel == "volta-fp32acc") continue;
    record.status = Status::kIncorrect;
    record.accuracy->nonfinite = 3;
    bring_up_to_date(record);
  }
  EXPECT_EQ(format_recommendation(run),
            "Use volta-fp32acc: the unfused computation gives no measure here, rel_l1 at most "
            "0.040 % (o); overflows in none of its 2 cases.");
}

TEST(Recommendation, DoubtsAKernelThatErrsByPercents) {
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) record.accuracy->rel_l1 *= 100.0;
  EXPECT_EQ(format_recommendation(run),
            "Use volta-fp32acc, if any, for these inputs do not suit fp16: 0.50x the unfused "
            "computation's error, rel_l1 at most 4.0 % (o); overflows in none of its 2 cases.");
}

TEST(Recommendation, TellsInputsApart) {
  RunRecord run = clean_run();
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    run.cases[i].problem.input = i < 3 ? "normal" : "outliers";
  }
  EXPECT_EQ(format_recommendation(run),
            "Use volta-fp32acc: 0.50x the unfused computation's error, rel_l1 at most 0.040 % (o, "
            "normal), 0.010 % (o, outliers); overflows in none of its 2 cases.");
}

TEST(Recommendation, IsNoneWhereNoKernelIsCorrect) {
  RunRecord run = clean_run();
  for (CaseRecord& record : run.cases) record.status = Status::kIncorrect;
  EXPECT_EQ(format_recommendation(run),
            "Use none of volta-fp32acc, volta-fp16acc: none was verified and found correct in "
            "every study.");
  EXPECT_EQ(format_recommendation(RunRecord()), "Use none: no fused kernel was verified.");
}

}  // namespace
}  // namespace sparkbench
