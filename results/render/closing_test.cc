#include "results/render/closing.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"
#include "results/study/prediction_check.h"

namespace sparkbench {
namespace {

CaseRecord timed_case(const std::string& kernel, double ms) {
  CaseRecord record = sample_timed_case();
  record.kernel = kernel;
  record.time_ms->median = ms;
  record.time_ms->samples.assign(20, ms);
  return record;
}

CaseRecord predicted_case(const std::string& kernel, double low, double likely, double high) {
  CaseRecord record = sample_emulated_case();
  record.kernel = kernel;
  record.predicted = sample_predicted_case().predicted;
  record.predicted->time_ms = {low, likely, high};
  return record;
}

std::string closing_of(std::vector<CaseRecord> cases) {
  RunRecord run;
  run.cases = std::move(cases);
  run.run.complete = true;
  run.environment.device.name = "Tesla V100-SXM2-16GB";
  return format_closing(run);
}

CaseRecord baseline_case(double ms) {
  CaseRecord record = timed_case("cublas-fp16", ms);
  record.role = Role::kReference;
  record.speedup.reset();
  return record;
}

TEST(Closing, SaysWhatToUseWhatTheNextCostsAndHowThatIsKnown) {
  CaseRecord first = timed_case("a", 1), next = timed_case("b", 2);
  first.memory_bytes->unfused = std::uint64_t{8} << 30;
  next.accumulator = Accumulator::kFp16;
  next.accuracy->error_over_unfused = 2.16;
  EXPECT_EQ(closing_of({first, next, baseline_case(8)}),
            "Use a: 8.00x as fast as cublas-fp16 (7.93x to 8.07x), 1.00 MiB instead of 8.00 GiB, "
            "0.54x its error.\n"
            "b (FP16-ACC) takes 2.00x as long as a (1.98x to 2.02x), with 4.0x its error.\n"
            "Measured on Tesla V100-SXM2-16GB, 1 problem; in brackets three standard errors.\n"
            "Your own shape: sparkbench advise --input outliers --input-scale 16 --headdim 64 "
            "--seqlen 128 --mask causal --dropout 0.1 --batch 1 --heads 2\n");
}

TEST(Closing, SaysWhatTheDoubtDoesNotTellApart) {
  const std::string text = closing_of({timed_case("a", 1), timed_case("b", 1.005)});
  EXPECT_NE(text.find("b takes 1.00x as long as a (0.996x to 1.01x), which the doubt does not tell "
                      "apart, with 1.0x its error.\n"),
            std::string::npos)
      << text;
}

TEST(Closing, GivesThePredictionsBandAndItsTestedError) {
  const std::string text =
      closing_of({predicted_case("a", 0.7, 0.8, 1.0), predicted_case("b", 0.8, 0.88, 1.1)});
  EXPECT_NE(text.find("Use a: 7.25x as fast as cublas-fp16 (5.50x to 9.50x)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Predicted for a V100-SXM2, not timed: 1 problem, in brackets the model's "
                      "band. " +
                      model_on_published_times()),
            std::string::npos)
      << text;
}

TEST(Closing, SaysWhereNoFusedKernelIsFaster) {
  const std::string text = closing_of({timed_case("a", 2), baseline_case(1)});
  EXPECT_EQ(text.rfind("Use cublas-fp16: no fused kernel is faster on these problems.\n"
                       "a takes 2.00x as long as cublas-fp16 (",
                       0),
            0u)
      << text;
}

TEST(Closing, SaysWhereTheBaselineIsFasterOrNothingElseHasATime) {
  CaseRecord record = predicted_case("a", 8, 10, 12);
  record.predicted->speedup = PredictedSpeedup{"cublas-fp16", 0.5, 0.58, 0.7};
  const std::string slower = closing_of({record});
  EXPECT_EQ(slower.rfind("No kernel here is as fast as cublas-fp16; the next is a: 0.580x", 0), 0u)
      << slower;
  record.predicted->speedup->high = 1.1;
  EXPECT_EQ(closing_of({record}).rfind("Use a: 0.580x as fast as cublas-fp16", 0), 0u);
  const std::string alone = closing_of({baseline_case(1)});
  EXPECT_EQ(alone.rfind("Use cublas-fp16: no other kernel here has a time.\n", 0), 0u) << alone;
}

TEST(Closing, NamesBothTheRunnerUpAndFp16) {
  CaseRecord fp16 = timed_case("c", 3);
  fp16.accumulator = Accumulator::kFp16;
  const std::string text =
      closing_of({timed_case("a", 1), timed_case("b", 2), fp16, timed_case("d", 4)});
  EXPECT_NE(text.find("\nb takes 2.00x"), std::string::npos) << text;
  EXPECT_NE(text.find("\nc (FP16-ACC) takes 3.00x"), std::string::npos) << text;
  EXPECT_NE(text.find("\nTimes as long as a: d 4.00x.\n"), std::string::npos) << text;
}

TEST(Closing, TellsTheErrorOfALayersAttention) {
  CaseRecord layer = timed_case("a", 1);
  layer.accuracy.reset();
  layer.layer.emplace();
  layer.layer->errors = {{.of = "mha", .rel_l2 = 3e-4, .over_unfused = 0.7}};
  const std::string text = closing_of({layer});
  EXPECT_NE(text.find("0.70x the error of the unfused layer's attention.\n"), std::string::npos)
      << text;
}

TEST(Closing, CountsTheProblemsThatItDidNotRunOn) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("a", 1), timed_case("b", 2)};
  cases[1].problem.seqlen_q = 7;
  const std::string text = closing_of(cases);
  EXPECT_NE(text.find(", 1 problem of 2, which these kernels share; in brackets"),
            std::string::npos)
      << text;
}

TEST(Closing, RecommendsNothingUncheckedAndSaysWhy) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("b", 2)};
  for (CaseRecord& record : cases) record.status = Status::kUnverified;
  const std::string text = closing_of(cases);
  EXPECT_EQ(text.rfind("No kernel is recommended: no result was checked.\n", 0), 0u) << text;
}

TEST(Closing, SaysThatNothingRan) {
  std::vector<CaseRecord> cases = {predicted_case("a", 0.7, 0.8, 1.0),
                                   predicted_case("b", 0.8, 0.88, 1.1)};
  for (CaseRecord& record : cases) record.status = Status::kPredicted;
  const std::string text = closing_of(cases);
  EXPECT_EQ(text.rfind("Fastest by prediction a: ", 0), 0u) << text;
  EXPECT_NE(text.find("not timed, and nothing was checked: 1 problem"), std::string::npos) << text;
}

TEST(Closing, NamesWhoIsNotCompared) {
  std::vector<CaseRecord> cases;
  for (const int seqlen : {7, 8, 9}) {
    for (const char* kernel : {"a", "b", "c"}) {
      if (kernel[0] == 'c' && seqlen > 7) continue;
      cases.push_back(timed_case(kernel, kernel[0] == 'a' ? 1 : 2));
      cases.back().problem.seqlen_q = seqlen;
    }
  }
  const std::string text = closing_of(cases);
  EXPECT_NE(text.find("; not compared, on fewer than half as many: c; in brackets"),
            std::string::npos)
      << text;
}

TEST(Closing, DoubtsARunThatWasStopped) {
  RunRecord run;
  run.cases = {timed_case("a", 1), timed_case("b", 2)};
  EXPECT_NE(format_closing(run).find("; the run was stopped, so others may be faster.\n"),
            std::string::npos);
}

TEST(Closing, RecommendsForEachTypeAndLayout) {
  std::vector<CaseRecord> cases = {timed_case("a", 1),   timed_case("b", 2), timed_case("a", 1),
                                   timed_case("b", 0.5), timed_case("a", 1), timed_case("b", 0.2)};
  for (CaseRecord* record : {&cases[2], &cases[3]}) record->problem.element = ElementType::kBf16;
  for (CaseRecord* record : {&cases[4], &cases[5]}) record->problem.layout = TensorLayout::kBhsd;
  const std::string text = closing_of(cases);
  for (const char* const line :
       {"Use a for fwd: ", "Use b for fwd in bf16: ", "Use b for fwd in bhsd: "}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("advise"), std::string::npos) << text;
}

TEST(Closing, RecommendsForEachPass) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("b", 1)};
  cases[1].problem.pass = Pass::kBackward;
  const std::string text = closing_of(cases);
  EXPECT_EQ(text.rfind("Use a for fwd: ", 0), 0u) << text;
  EXPECT_NE(text.find("\nUse b for bwd: "), std::string::npos) << text;
  EXPECT_NE(text.find(" --train\n"), std::string::npos) << text;
}

TEST(Closing, RecommendsNothingWithoutTimesAndPredictions) {
  EXPECT_EQ(format_closing(sample_run()),
            "No kernel is recommended: no correct case has a time or a prediction.\n");
}

}  // namespace
}  // namespace sparkbench
