// What the program predicts for a V100, with made-up cycles.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/e2e/test_program.h"
#include "harness/model/predict/test_cycles.h"
#include "harness/model/predictor.h"
#include "results/study/prediction_check.h"

namespace sparkbench {
namespace {

using Json = nlohmann::json;

const std::string kPredictedProblem =
    "--headdim 64 --seqlen 128 --causal false --dropout 0 --heads 1 --batch 1 --no-verify ";
const std::string kPredictedSweep =
    "sweep --device emulated-v100 --kernel volta-fp32acc,unfused-fp16 " + kPredictedProblem;

ProgramResult run_with(const CyclesFile& cycles, const std::string& arguments) {
  const Predictor predictor(cycles);
  ProgramSettings settings;
  settings.predictor = &predictor;
  return run_sparkbench(arguments, settings);
}

Json run_of(const CyclesFile& cycles, const std::string& arguments) {
  const ProgramResult result = run_with(cycles, arguments + "-q --json -");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

const Json& case_of(const Json& run, const char* kernel) {
  for (const Json& each : run["cases"]) {
    if (each["kernel"] == kernel) return each;
  }
  throw std::invalid_argument(std::string("no case of ") + kernel);
}

TEST(ProgramPrediction, FillsRecordsOfTheEmulatedV100) {
  const Json run = run_of(test_cycles(), kPredictedSweep);
  const Json& predicted = case_of(run, "volta-fp32acc")["predicted"];
  const double bytes = 128 * (4 * 128 + 4);  // of four tensors and LSE, half of them hidden
  EXPECT_DOUBLE_EQ(predicted["time_ms"]["likely"],
                   5500 / 0.95 / 1380e3 + 0.5 * (bytes / 760e6) + 2.5e-3);
  EXPECT_EQ(predicted["basis"], "cycle model");
  EXPECT_EQ(predicted["clock_mhz"], 1380);
  EXPECT_EQ(predicted["speedup"]["over"], "unfused-fp16");
  const Json& baseline = case_of(run, "unfused-fp16")["predicted"];
  EXPECT_EQ(baseline["basis"], "published rates");
  EXPECT_DOUBLE_EQ(
      predicted["speedup"]["likely"].get<double>(),
      baseline["time_ms"]["likely"].get<double>() / predicted["time_ms"]["likely"].get<double>());
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["time_ms"].is_null());
}

TEST(ProgramPrediction, IsInTheTableAndTheReport) {
  const ProgramResult sweep = run_with(test_cycles(), kPredictedSweep);
  for (const char* part : {"predicted speed-up is over unfused-fp16\n", " 0.00674 ",
                           "\nNo kernel is recommended: no result was checked.\n"}) {
    EXPECT_TRUE(contains(sweep.out, part)) << part << "\nis not in\n" << sweep.out;
  }
  EXPECT_FALSE(contains(sweep.out, "noise")) << sweep.out;
  std::string run_command = kPredictedSweep;
  const ProgramResult run = run_with(test_cycles(), run_command.replace(0, 5, "run"));
  EXPECT_TRUE(contains(run.out, "  predicted, no time   0.00674 ms likely, ")) << run.out;
  EXPECT_TRUE(contains(run.out, " times as fast as unfused-fp16 likely, ")) << run.out;
  EXPECT_TRUE(contains(run.out, model_on_published_times_briefly())) << run.out;
}

TEST(ProgramPrediction, IsNullWithAReasonWithoutCycles) {
  const CyclesFile none;
  const Json run = run_of(none, kPredictedSweep);
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["predicted"].is_null());
  EXPECT_EQ(case_of(run, "volta-fp32acc")["predicted_reason"]["code"], "P-NO-CYCLES");
  EXPECT_FALSE(case_of(run, "unfused-fp16")["predicted"].is_null());
  const ProgramResult sweep = run_with(none, kPredictedSweep);
  EXPECT_FALSE(contains(sweep.out, "predicted speed-up")) << sweep.out;
  EXPECT_TRUE(contains(sweep.out,
                       "\nnot predicted P-NO-CYCLES (1 case): no cycles of volta-fp32acc/fwd/d64 "
                       "in kernels/volta/cycles.json\n"))
      << sweep.out;
}

TEST(ProgramPrediction, NeedsNoEmulation) {
  const Json planned =
      Json::parse(run_with(test_cycles(), kPredictedSweep + "--dry-run --json -").out);
  EXPECT_FALSE(case_of(planned, "volta-fp32acc")["predicted"].is_null());
}

TEST(ProgramPrediction, IsNoBusinessOfAccuracy) {
  const Json run = run_of(test_cycles(),
                          "accuracy --device emulated-v100 --kernel volta-fp32acc "
                          "--headdim 64 --seqlen 64 --dropout 0 --causal false ");
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["predicted"].is_null());
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["predicted_reason"].is_null());
}

TEST(ProgramPrediction, IsOfNoOtherChip) {
  const Json run = run_of(test_cycles(),
                          "sweep --device emulated-t4 --kernel volta-fp32acc " + kPredictedProblem);
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["predicted"].is_null());
  EXPECT_TRUE(case_of(run, "volta-fp32acc")["predicted_reason"].is_null());
}

TEST(ProgramPrediction, OfADeterministicPassIsThatOfItsKernels) {
  const Json run = run_of(test_cycles(), kPredictedSweep + "--pass bwd --deterministic ");
  EXPECT_EQ(case_of(run, "volta-fp32acc")["predicted_reason"]["message"],
            "no cycles of volta-fp32acc/bwd/d64/deterministic in kernels/volta/cycles.json");
  // With so many tokens that sums over all queries make up dQ
  // (kernels/volta/backward/relay_plan.h).
  const Json other = run_of(test_cycles(),
                            "sweep --device emulated-v100 --kernel volta-fp32acc --pass bwd "
                            "--dry-run --headdim 64 --seqlen 600 --causal false --dropout 0 "
                            "--heads 1 --batch 1 --no-verify ");
  EXPECT_FALSE(case_of(other, "volta-fp32acc")["predicted"].is_null());
}

TEST(ProgramPrediction, IsKeptByResumeReportAndMerge) {
  const TemporaryFolder folder;
  const std::string half = path_in(folder, "half"), other = path_in(folder, "other");
  const CyclesFile cycles = test_cycles();
  run_with(cycles, kPredictedSweep + "--out " + half + " --shard 1/2");
  run_with(cycles, kPredictedSweep + "--out " + other + " --shard 2/2");
  const ProgramResult merged =
      run_with(cycles, "merge " + half + " " + other + " -o " + path_in(folder, "whole"));
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  const std::string sentence = " 0.00674 ";  // in the table
  EXPECT_TRUE(contains(run_with({}, "report " + path_in(folder, "whole")).out, sentence));
  const ProgramResult resumed = run_with(cycles, "sweep --resume " + half + " --shard=1/1");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(contains(resumed.out, sentence)) << resumed.out;
}

/// The run as if it had been timed, with `times` times the likely time.
void plant_times(Json& run, double times) {
  run.erase("run_hash");  // a deliberate change
  for (Json& each : run["cases"]) {
    const double ms = times * each["predicted"]["time_ms"]["likely"].get<double>();
    each["time_ms"] = {{"median", ms}, {"mean", ms}, {"min", ms}, {"max", ms},
                       {"stdev", 0.0}, {"q1", ms},   {"q3", ms},  {"samples", {ms, ms, ms}}};
  }
}

TEST(ProgramPrediction, IsCheckedByTimesWhereThereAreAny) {
  const TemporaryFolder folder;
  Json run = run_of(test_cycles(), kPredictedSweep);
  plant_times(run, 1.1);
  const std::string first = path_in(folder, "first.json"), second = path_in(folder, "second.json");
  std::ofstream(first) << run;
  plant_times(run, 2);
  std::ofstream(second) << run;
  const ProgramResult report = run_with({}, "report " + first);
  EXPECT_TRUE(contains(report.out,
                       "measured over predicted (cycle model): 1.10 (geometric mean of "
                       "1 case, 1.10 to 1.10), 1 within the band; furthest off is "
                       "volta-fp32acc/fwd/"))
      << report.out;
  EXPECT_TRUE(contains(report.out, "measured over predicted (published rates): 1.10 ("))
      << report.out;
  const ProgramResult diff =
      run_with({}, "diff --time-only " + first + " " + second + " --json " + path_in(folder, "d"));
  EXPECT_TRUE(contains(diff.out, "first run: measured over predicted (cycle model): 1.10 ("))
      << diff.out << diff.err;
  EXPECT_TRUE(contains(diff.out, "second run: measured over predicted (cycle model): 2.00 ("));
  std::ifstream json(path_in(folder, "d"));
  const Json written = Json::parse(json);
  EXPECT_EQ(written["second_predictions"][0]["in_band"], 0);
  EXPECT_EQ(written["first_predictions"][0]["in_band"], 1);
}

}  // namespace
}  // namespace sparkbench
