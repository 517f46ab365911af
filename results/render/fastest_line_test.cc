#include "results/render/fastest_line.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

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

std::string line_of_cases(std::vector<CaseRecord> cases) {
  RunRecord run;
  run.cases = std::move(cases);
  run.run.complete = true;
  return format_fastest(run);
}

TEST(FastestLine, NamesKernelLeadDoubtAndError) {
  EXPECT_EQ(line_of_cases({timed_case("a", 1), timed_case("b", 2), timed_case("cublas-fp16", 8)}),
            "Fastest correct kernel: a, 2.00x as fast as b, the next (1.98x to 2.02x, measured, 1 "
            "problem), 8.00x as fast as cublas-fp16 (7.93x to 8.07x); rel_l1 at most 0.0350 %, "
            "error 0.54x of the unfused computation's.\n");
}

TEST(FastestLine, SaysThatADoubtTellsNothingApart) {
  EXPECT_EQ(line_of_cases({timed_case("a", 1), timed_case("b", 1.005)}),
            "Fastest correct kernel: a, 1.00x as fast as b, the next (0.996x to 1.01x, measured, 1 "
            "problem), which the doubt does not tell apart; rel_l1 at most 0.0350 %, error 0.54x "
            "of the unfused computation's.\n");
}

TEST(FastestLine, GivesTheModelsBandOfWhatIsPredicted) {
  EXPECT_EQ(
      line_of_cases({predicted_case("a", 0.7, 0.8, 1.0), predicted_case("b", 0.8, 0.88, 1.1)}),
      "Fastest correct kernel: a, 1.10x as fast as b, the next (0.800x to 1.57x, by a model of a "
      "V100-SXM2, 1 problem), which the doubt does not tell apart, 7.25x as fast as cublas-fp16 "
      "(5.50x to 9.50x); rel_l1 at most 0.0350 %, error 0.54x of the unfused computation's.\n");
}

TEST(FastestLine, BoundsNothingWhereRowsWereSampled) {
  CaseRecord sampled = timed_case("a", 1);
  sampled.accuracy->checked_elements /= 2;
  const std::string line = line_of_cases({sampled, timed_case("b", 2)});
  EXPECT_NE(line.find("; rel_l1 up to about 0.0350 %, "), std::string::npos) << line;
}

TEST(FastestLine, SaysWhatItDoesNotKnow) {
  CaseRecord alone = timed_case("a", 1);
  alone.accuracy.reset();
  EXPECT_EQ(line_of_cases({alone}),
            "Fastest kernel: a, the only one on its problems (measured, 1 problem); its "
            "error was not checked.\n");
  alone.time_ms->samples.clear();
  alone.sampling.reset();
  EXPECT_EQ(line_of_cases({alone, timed_case("b", 2)}),
            "Fastest kernel: a, 2.00x as fast as b, the next (doubt unknown, measured, 1 "
            "problem), which the doubt does not tell apart; its error was not checked.\n");
}

TEST(FastestLine, TellsTheErrorsOfALayersParts) {
  CaseRecord layer = timed_case("a", 1);
  layer.accuracy.reset();
  layer.layer.emplace();
  layer.layer->errors = {{.of = "output", .rel_l2 = 3e-4, .over_unfused = 0.7},
                         {.of = "dW1", .rel_l2 = 5e-4, .over_unfused = 0.98},
                         {.of = "ln1", .rel_l2 = 2e-4}};
  const std::string line = line_of_cases({layer});
  EXPECT_EQ(line,
            "Fastest correct kernel: a, the only one on its problems (measured, 1 problem); rel_l2 "
            "at most 0.0500 % in every part, error at most 0.98x of the unfused layer's.\n");
}

TEST(FastestLine, CountsTheProblemsThatItDidNotRunOn) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("a", 1), timed_case("b", 2)};
  cases[1].problem.seqlen_q = 7;
  const std::string line = line_of_cases(cases);
  EXPECT_NE(line.find("; compared on the 1 of 2 problems that these kernels share; rel_l1"),
            std::string::npos)
      << line;
}

TEST(FastestLine, NamesNoneAndSaysWhy) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("b", 2)};
  for (CaseRecord& record : cases) record.status = Status::kUnverified;
  EXPECT_EQ(line_of_cases(cases),
            "Fastest correct kernel: none is named, since no result was checked.\n");
}

TEST(FastestLine, NamesWhoIsNotCompared) {
  std::vector<CaseRecord> cases;
  for (const int seqlen : {7, 8, 9}) {
    for (const char* kernel : {"a", "b", "c"}) {
      if (kernel[0] == 'c' && seqlen > 7) continue;
      cases.push_back(timed_case(kernel, kernel[0] == 'a' ? 1 : 2));
      cases.back().problem.seqlen_q = seqlen;
    }
  }
  const std::string line = line_of_cases(cases);
  EXPECT_NE(line.find("; c ran on fewer than half as many problems and is not compared; rel_l1"),
            std::string::npos)
      << line;
}

TEST(FastestLine, DoubtsARunThatWasStopped) {
  RunRecord run;
  run.cases = {timed_case("a", 1), timed_case("b", 2)};
  EXPECT_NE(format_fastest(run).find("; the run was stopped, so others may be faster; rel_l1"),
            std::string::npos);
}

TEST(FastestLine, IsOneForEachPass) {
  std::vector<CaseRecord> cases = {timed_case("a", 1), timed_case("b", 1)};
  cases[1].problem.pass = Pass::kBackward;
  const std::string lines = line_of_cases(cases);
  EXPECT_EQ(lines.rfind("Fastest correct kernel, fwd: a, ", 0), 0u) << lines;
  EXPECT_NE(lines.find("\nFastest correct kernel, bwd: b, "), std::string::npos) << lines;
}

TEST(FastestLine, NamesNoneWithoutTimesAndPredictions) {
  EXPECT_EQ(format_fastest(sample_run()),
            "Fastest correct kernel: none is named, since no correct case has a time or a "
            "prediction.\n");
}

}  // namespace
}  // namespace sparkbench
