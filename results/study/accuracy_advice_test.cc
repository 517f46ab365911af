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

TEST(AccuracyAdvice, RecommendsTheMoreAccurateAndPricesTheOther) {
  EXPECT_EQ(format_accuracy_advice(clean_run()),
            "The error of volta-fp32acc is 0.50x, that of volta-fp16acc 2.0x that of unfused-fp16 "
            "(rel_l1, geometric mean of 2 problems). Use volta-fp32acc: it is at least as accurate "
            "as unfused-fp16, which it replaces. Take volta-fp16acc only where it is faster and an "
            "error of up to 0.16 % of the output's size (its largest rel_l1) does no harm.");
}

TEST(AccuracyAdvice, FollowsTheNumbersAndNotTheNames) {
  RunRecord run = clean_run();
  for (std::size_t i : {0, 3}) std::swap(run.cases[i].accuracy, run.cases[i + 1].accuracy);
  EXPECT_EQ(format_accuracy_advice(run).substr(0, 61),
            "The error of volta-fp16acc is 0.50x, that of volta-fp32acc 2.");
}

TEST(AccuracyAdvice, LeavesTheChoiceBetweenAccurateToSpeed) {
  RunRecord run = clean_run();
  for (std::size_t i : {1, 4}) run.cases[i].accuracy->rel_l1 /= 3.0;
  EXPECT_NE(format_accuracy_advice(run).find(
                "volta-fp16acc is no worse than unfused-fp16 either: take the faster."),
            std::string::npos);
}

TEST(AccuracyAdvice, SaysWhenNoKernelEqualsTheReference) {
  RunRecord run = clean_run();
  for (std::size_t i : {0, 3}) run.cases[i].accuracy->rel_l1 *= 3.0;
  EXPECT_NE(format_accuracy_advice(run).find("Use volta-fp32acc: no fused kernel is as accurate as "
                                             "unfused-fp16, and it comes nearest."),
            std::string::npos);
}

TEST(AccuracyAdvice, RefusesAKernelWithAnIncorrectCaseAnywhere) {
  EXPECT_EQ(format_accuracy_advice(sample_run()),
            "Do not use volta-fp16acc: 1 of its 3 verified cases are incorrect. The error of "
            "volta-fp32acc is 0.50x that of unfused-fp16 (rel_l1, geometric mean of 2 problems). "
            "Use volta-fp32acc: it is at least as accurate as unfused-fp16, which it replaces.");
}

TEST(AccuracyAdvice, HasALinePerGradient) {
  const std::string advice = format_accuracy_advice(sample_backward_run());
  EXPECT_EQ(advice.substr(0, 53), "dq, pass bwd: The error of volta-fp32acc is 0.50x, th");
  EXPECT_NE(advice.find("\ndk, pass bwd: The error of volta-fp32acc is 0.50x, that of "
                        "volta-fp16acc 2.0x that of unfused-fp16"),
            std::string::npos);
  EXPECT_NE(advice.find("an error of up to 0.32 % of the output's size"), std::string::npos);
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
            "Nothing to compare with: no reference was verified.");
  RunRecord run = clean_run();
  for (std::size_t i : {0, 1, 3, 4}) run.cases[i].accuracy.reset();
  EXPECT_EQ(format_accuracy_advice(run), "No fused kernel can be recommended from these cases.");
}

}  // namespace
}  // namespace sparkbench
