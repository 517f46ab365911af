#include "results/record/speedup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord timed(const std::string& kernel, Role role, double median_ms) {
  CaseRecord record = sample_timed_case();
  record.kernel = kernel;
  record.role = role;
  record.time_ms->median = record.time_ms->mean = median_ms;
  record.time_ms->stdev = 0.03 * median_ms;
  record.speedup.reset();
  return record;
}

TEST(Speedup, IsOverTheBaselineOfTheSameProblem) {
  TimedReferences references;
  CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
  CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
  references.compare(baseline);
  references.compare(kernel);
  EXPECT_FALSE(baseline.speedup.has_value());
  EXPECT_EQ(kernel.speedup.value().over, "cublas-fp16");
  EXPECT_EQ(kernel.speedup->ratio, 4.0);
  EXPECT_EQ(kernel.speedup->over_median_ms, 8.0);
  EXPECT_FALSE(kernel.speedup->interleaved);
  EXPECT_NEAR(kernel.speedup->ratio_stdev.value(), 4.0 * 0.03 * std::sqrt(2.0), 1e-12);
}

TEST(Speedup, IsNotOverAnotherProblemOrDevice) {
  for (int i = 0; i < 5; ++i) {
    TimedReferences references;
    CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
    if (i == 0) baseline.problem.seqlen_q *= 2;
    if (i == 1) baseline.device = "cuda:0";
    if (i == 2) baseline.accumulator.reset();
    if (i == 3) baseline.valid = false;
    if (i == 4) baseline.status = Status::kIncorrect;
    CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
    references.compare(baseline);
    references.compare(kernel);
    EXPECT_FALSE(kernel.speedup.has_value()) << i;
  }
}

TEST(Speedup, ThatWasMeasuredOtherwiseStays) {
  TimedReferences references;
  CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
  CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
  kernel.speedup = Speedup{"cublas-fp16", 3.5, 0.1, 7.0, true};
  references.compare(baseline);
  references.compare(kernel);
  EXPECT_EQ(kernel.speedup->ratio, 3.5);
}

/// cublas-fp16 in 8 ms, torch-unfused in 6 ms, a kernel in 2 ms, interleaved with the first.
RunRecord timed_run() {
  RunRecord run;
  run.cases = {timed("cublas-fp16", Role::kReference, 8.0),
               timed("torch-unfused", Role::kReference, 6.0),
               timed("volta-fp32acc", Role::kFused, 2.0)};
  run.cases[2].speedup = Speedup{"cublas-fp16", 3.5, 0.1, 7.0, true};
  return run;
}

std::string refusal_of(const std::string& reference, RunRecord run) {
  return message_of<std::invalid_argument>([&] { compare_with_reference(reference, run); });
}

TEST(CompareWithReference, GivesEveryOtherKernelItsSpeedup) {
  RunRecord run = timed_run();
  compare_with_reference("torch-unfused", run);
  EXPECT_EQ(run.cases[0].speedup.value().ratio, 0.75);
  EXPECT_FALSE(run.cases[1].speedup.has_value());
  EXPECT_EQ(run.cases[2].speedup.value().over, "torch-unfused");
  EXPECT_EQ(run.cases[2].speedup->ratio, 3.0);
  EXPECT_FALSE(run.cases[2].speedup->interleaved);
  EXPECT_EQ(run.cases[2].speedup->over_median_ms, 6.0);
}

TEST(CompareWithReference, KeepsWhatWasMeasuredInTurns) {
  RunRecord run = timed_run();
  compare_with_reference("cublas-fp16", run);
  EXPECT_EQ(run.cases[2].speedup.value().ratio, 3.5);
  EXPECT_TRUE(run.cases[2].speedup->interleaved);
  EXPECT_FALSE(run.cases[0].speedup.has_value());
}

TEST(CompareWithReference, SaysWhyACaseHasNoSpeedup) {
  RunRecord run = timed_run();
  run.cases.push_back(timed("volta-fp32acc", Role::kFused, 4.0));
  run.cases[3].problem.seqlen_q *= 2;
  run.cases[3].speedup = Speedup{"cublas-fp16", 2.0, 0.1, 8.0, true};
  for (int i = 0; i < 2; ++i) {  // not twice
    compare_with_reference("torch-unfused", run);
    EXPECT_FALSE(run.cases[3].speedup.has_value());
    ASSERT_EQ(run.cases[3].warnings.size(), 2u);
    EXPECT_EQ(run.cases[3].warnings[1].code, "W-NO-SPEEDUP");
    EXPECT_EQ(run.cases[3].warnings[1].message,
              "torch-unfused has no case of this problem and device");
  }
  run.cases.push_back(run.cases[1]);
  run.cases[4].problem = run.cases[3].problem;
  run.cases[4].valid = false;
  compare_with_reference("torch-unfused", run);
  EXPECT_EQ(run.cases[3].warnings[1].message, "torch-unfused has no valid time on this problem");
}

/// Sets the UUID of a card that is cuda:0 of its machine.
CaseRecord of_card(const std::optional<std::string>& uuid, CaseRecord record) {
  record.provenance.emplace().device_uuid = uuid;
  return record;
}

TEST(CompareWithReference, TellsCardsOfOneNameApart) {
  RunRecord run;
  run.cases = {of_card("GPU-a", timed("cublas-fp16", Role::kReference, 8.0)),
               of_card("GPU-b", timed("cublas-fp16", Role::kReference, 6.0)),
               of_card("GPU-a", timed("volta-fp32acc", Role::kFused, 2.0)),
               of_card("GPU-b", timed("volta-fp32acc", Role::kFused, 2.0)),
               of_card("GPU-c", timed("volta-fp32acc", Role::kFused, 2.0)),
               of_card(std::nullopt, timed("volta-fp32acc", Role::kFused, 2.0))};
  compare_with_reference("cublas-fp16", run);
  EXPECT_EQ(run.cases[2].speedup.value().ratio, 4.0);
  EXPECT_EQ(run.cases[3].speedup.value().ratio, 3.0);
  EXPECT_FALSE(run.cases[4].speedup.has_value());
  EXPECT_FALSE(run.cases[5].speedup.has_value());
}

TEST(CompareWithReference, TakesAnotherCardOfTheModelWithAWarning) {
  const auto of_model = [](const char* name, const char* uuid, CaseRecord record) {
    record = of_card(uuid, std::move(record));
    record.provenance->device_name = name;
    record.warnings.clear();
    return record;
  };
  RunRecord run;
  run.cases = {of_model("NVIDIA H200", "GPU-a", timed("cublas-fp16", Role::kReference, 8.0)),
               of_model("NVIDIA H200", "GPU-a", timed("volta-fp32acc", Role::kFused, 2.0)),
               of_model("NVIDIA H200", "GPU-b", timed("volta-fp32acc", Role::kFused, 2.0)),
               of_model("NVIDIA H100", "GPU-c", timed("volta-fp32acc", Role::kFused, 2.0))};
  for (int again = 0; again < 2; ++again) {
    compare_with_reference("cublas-fp16", run);
    EXPECT_TRUE(run.cases[1].warnings.empty());
    EXPECT_EQ(run.cases[2].speedup.value().ratio, 4.0);
    ASSERT_EQ(run.cases[2].warnings.size(), 1u);
    EXPECT_EQ(run.cases[2].warnings[0].code, "W-OTHER-CARD");
    EXPECT_EQ(run.cases[2].warnings[0].message,
              "cublas-fp16 was timed on another card of this model");
    EXPECT_FALSE(run.cases[3].speedup.has_value());
  }
}

TEST(Speedup, IsOverABaselineOfTheSameCard) {
  TimedReferences references;
  CaseRecord baseline = of_card("GPU-a", timed("cublas-fp16", Role::kReference, 8.0));
  CaseRecord same = of_card("GPU-a", timed("volta-fp32acc", Role::kFused, 2.0));
  CaseRecord other = of_card("GPU-b", timed("volta-fp32acc", Role::kFused, 2.0));
  for (CaseRecord* record : {&baseline, &same, &other}) references.compare(*record);
  EXPECT_TRUE(same.speedup.has_value());
  EXPECT_FALSE(other.speedup.has_value());
}

TEST(CompareWithReference, LeavesOutWhatIsIncorrectOrUntimed) {
  RunRecord run = timed_run();
  run.cases[0].status = Status::kIncorrect;
  run.cases[2].time_ms.reset();
  run.cases.push_back(timed("volta-fp16acc", Role::kFused, 3.0));
  compare_with_reference("torch-unfused", run);
  EXPECT_FALSE(run.cases[0].speedup.has_value());
  EXPECT_FALSE(run.cases[2].speedup.has_value());
  EXPECT_EQ(run.cases[3].speedup.value().ratio, 2.0);
}

TEST(CompareWithReference, RefusesWhatTheRunCannotBeComparedWith) {
  EXPECT_EQ(refusal_of("cudnn", timed_run()),
            "no case of 'cudnn' in the run; it has cublas-fp16, torch-unfused, volta-fp32acc");
  EXPECT_EQ(refusal_of("cublas-fp61", timed_run()),
            "no case of 'cublas-fp61' in the run, did you mean 'cublas-fp16'?; it has "
            "cublas-fp16, torch-unfused, volta-fp32acc");
  EXPECT_EQ(refusal_of("cudnn", RunRecord()), "no case of 'cudnn' in the run; it has no cases");
  RunRecord skipped = timed_run();
  skipped.cases[1].status = Status::kSkipped;
  EXPECT_EQ(refusal_of("torch-unfused", skipped),
            "'torch-unfused' can be compared with none of the run's 3 cases: torch-unfused was "
            "skipped on this problem");
  EXPECT_EQ(refusal_of("unfused-fp16", sample_run()),
            "'unfused-fp16' can be compared with none of the run's 9 cases: nothing else was "
            "timed");
}

}  // namespace
}  // namespace sparkbench
