// sparkbench-model predict on given machine code.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/model/tool/test_model_program.h"

namespace sparkbench {
namespace {

const std::string kGemm = std::string("--listing ") + SPARKBENCH_CYCLES_TESTDATA +
                          "/tensor_gemm.sass --function gemm --threads 128 ";
const std::string kRates =
    std::string("--listing ") + SPARKBENCH_CYCLES_TESTDATA + "/arithmetic_rates.sass ";

ProgramResult predict(const std::string& flags) { return run_model("predict " + flags); }

nlohmann::json predict_json(const std::string& flags) {
  const ProgramResult result = predict(flags + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

TEST(CommandPredictCode, ListsFunctionsAndTheirLoops) {
  const ProgramResult result = predict(kRates);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "fp16_chains: ")) << result.out;
  EXPECT_TRUE(contains(result.out, "\n  loop 0x140..0x370: 36 instructions, 0 of tensor cores\n"))
      << result.out;
}

TEST(CommandPredictCode, ListsFunctionsForPrograms) {
  const auto document =
      predict_json(std::string("--listing ") + SPARKBENCH_CYCLES_TESTDATA + "/tensor_gemm.sass");
  ASSERT_EQ(document["functions"].size(), 1u);
  EXPECT_EQ(document["functions"][0]["symbol"], "gemm");
  EXPECT_EQ(document["functions"][0]["loops"][0]["first_address"], 0x670);
  EXPECT_EQ(document["functions"][0]["loops"][0]["tensor_instructions"], 512);
}

TEST(CommandPredictCode, PredictsALoop) {
  const ProgramResult result = predict(kGemm + "--blocks 2 --offsets 400");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "gemm, loop 0x670..0x2a40\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "cycles a pass of all warps: 2542.2\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "share of the tensor cores' peak: 80.6%\n")) << result.out;
}

TEST(CommandPredictCode, GivesTheMeanOverStartOffsets) {
  const auto document = predict_json(kGemm + "--blocks 2");
  ASSERT_EQ(document["offsets"].size(), 3u);
  double sum = 0.0;
  for (const auto& one : document["offsets"]) sum += one["cycles"].get<double>();
  EXPECT_DOUBLE_EQ(document["cycles"], sum / 3);
  EXPECT_EQ(document["offsets"][0]["offset"], 400);
  EXPECT_EQ(predict_json(kGemm)["offsets"].size(), 1u);
}

TEST(CommandPredictCode, PrintsOneJsonDocument) {
  const auto document = predict_json(kGemm);
  EXPECT_EQ(document["schema"], "sparkbench.loop-prediction 1.0.0");
  EXPECT_EQ(document["function"], "gemm");
  EXPECT_EQ(document["loop"]["first_address"], 0x670);
  EXPECT_EQ(document["tensor_flop"], 128 * 2048 * 4);
  EXPECT_EQ(document["least_cycles"]["tensor"], 1024);
  EXPECT_EQ(document["constants"]["hmma_f32_latency"], 14);
  EXPECT_TRUE(document["sensitivity"].is_null());
  EXPECT_TRUE(
      predict_json(kRates + "--function fp16_chains --threads 32")["tensor_share"].is_null());
}

TEST(CommandPredictCode, TakesAssumptionsAndConstants) {
  const double plain = predict_json(kGemm)["cycles"];
  const auto slow = predict_json(kGemm + "--assume supply-8 --set ldg_latency=900");
  EXPECT_GT(slow["cycles"].get<double>(), plain);
  EXPECT_EQ(slow["constants"]["scheduler_fetch_bytes"], 8);
  EXPECT_EQ(slow["constants"]["hmma_no_reuse"], 1);
  EXPECT_EQ(slow["constants"]["ldg_latency"], 900);
  EXPECT_GT(predict_json(kGemm + "--conflict LDS=4")["cycles"].get<double>(), 1.2 * plain);
}

TEST(CommandPredictCode, GoesFromEntryToEnd) {
  const auto once = predict_json(kGemm + "--whole --trips 0x670=1");
  const auto often = predict_json(kGemm + "--whole --trips 0x670=9");
  EXPECT_TRUE(once["loop"].is_null());
  EXPECT_EQ(often["instructions"].get<int>() - once["instructions"].get<int>(), 8 * 574);
  const auto skipping = predict_json(kGemm + "--whole --taken 0x5f0");
  EXPECT_LT(skipping["instructions"], once["instructions"]);
}

TEST(CommandPredictCode, ShowsWhatWaitsAndWhatMatters) {
  const ProgramResult result = predict(kGemm + "--annotate --sensitivity");
  EXPECT_TRUE(contains(result.out, "@!P0 BRA 0x670 ")) << result.out;
  EXPECT_TRUE(contains(result.out, "\n  ldg_latency ")) << result.out;
  const ProgramResult full = predict(kGemm + "--annotate --full");
  EXPECT_EQ(std::count(full.out.begin(), full.out.end(), '\n') > 574, true);
  EXPECT_TRUE(predict_json(kGemm + "--sensitivity")["sensitivity"].size() > 10);
}

TEST(CommandPredictCode, ReadsABinary) {
  TemporaryFolder folder;
  const std::string tool = path_in(folder, "cuobjdump");
  std::ofstream(tool) << "#!/bin/sh\ncat " SPARKBENCH_CYCLES_TESTDATA "/arithmetic_rates.sass\n";
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const auto document = predict_json("--cuobjdump " + tool + " --binary " + tool +
                                     " --function exp2_chains --threads 1024");
  EXPECT_EQ(document["cycles"], 2048);
}

TEST(CommandPredictCode, RefusesCodeThatNoCompilerMade) {
  TemporaryFolder folder;
  std::string text = text_of_file(SPARKBENCH_CYCLES_TESTDATA "/tensor_gemm.sass");
  const std::string barrier = "BAR.SYNC 0x0";
  ASSERT_NE(text.find(barrier), std::string::npos);
  text.replace(text.find(barrier), barrier.size(), "BAR.SYNC 0x77");
  const std::string path = path_in(folder, "mutant.sass");
  std::ofstream(path) << text;
  expect_model_refused(predict("--listing " + path + " --function gemm --threads 128 --whole"), 2,
                       "--listing: " + path +
                           ": gemm: its code cannot be followed: a barrier has a "
                           "number that no block has; allowed: a compiler's code");
}

TEST(CommandPredictCode, RefusesUnknownFunctionsAndPlaces) {
  expect_model_refused(predict(kRates + "--function fp --threads 32"), 2,
                       "--function: 'fp' is in the names of 4; allowed: one of fp");
  expect_model_refused(predict(kRates + "--function gemm --threads 32"), 2,
                       "--function: 'gemm' is in the name of none; allowed: ");
  expect_model_refused(predict(kGemm + "--loop 0x680"), 2,
                       "--loop: no loop begins or ends at 0x680; allowed: 0x670");
  expect_model_refused(predict(kGemm + "--loop 670"), 2, "--loop: '670' is no address; allowed");
  expect_model_refused(predict(kGemm + "--skip 0x99990"), 2,
                       "--skip: gemm has no instruction at 0x99990; allowed: 0x0 to ");
  expect_model_refused(predict(kGemm + "--taken 0x670"), 2,
                       "at 0x670 decides nothing; allowed: branches");
  expect_model_refused(predict(kGemm + "--taken 0x2a40"), 2, "at 0x2a40 decides nothing");
  expect_model_refused(predict(kGemm + "--trips 0x670=0"), 2, "--trips: '0' is no number of turns");
  expect_model_refused(predict(kGemm + "--trips 0x670"), 2,
                       "--trips: '0x670' gives nothing a value");
}

TEST(CommandPredictCode, RefusesBadValues) {
  expect_model_refused(predict(kRates + "--function exp2_chains"), 2, "--threads");
  expect_model_refused(predict(kRates + "--function exp2_chains --threads 33"), 2,
                       "--threads: 33 of a block; allowed: 32 to 1024, whole warps");
  expect_model_refused(predict(kGemm + "--blocks 17"), 2,
                       "--blocks: 17 of 128 threads; allowed: 1 to 16 on an SM");
  expect_model_refused(predict(kGemm + "--blocks 0"), 2, "--blocks: 0 of 128 threads");
  expect_model_refused(predict(kGemm + "--offsets 0"), 2, "--offsets: one block starts alone");
  expect_model_refused(predict(kGemm + "--blocks 2 --offsets=-1"), 2, "--offsets");
  expect_model_refused(predict(kGemm + "--conflict LDS=0"), 2, "--conflict: '0' is no factor");
  expect_model_refused(predict(kGemm + "--conflict LDX=2"), 2, "--conflict: gemm has no LDX");
  expect_model_refused(predict(kGemm + "--set ldg=2"), 2, "--set: unknown 'ldg'");
  expect_model_refused(predict(kGemm + "--assume supply-4"), 2, "--assume: unknown 'supply-4'");
  expect_model_refused(predict(kGemm + "--iterations 0"), 2, "--iterations");
  expect_model_refused(predict(kGemm + "--warm 2000000000"), 2, "--warm");
  expect_model_refused(predict(kGemm + "--annotate --json"), 2, "--json");
  expect_model_refused(predict(kGemm + "--whole --default-trip 900000"), 2,
                       "--trips: the way through");
}

TEST(CommandPredictCode, RefusesFilesWithoutCode) {
  TemporaryFolder folder;
  const std::string listing = path_in(folder, "listing");
  expect_model_refused(predict("--listing " + listing), 2,
                       "--listing: " + listing + " cannot be read");
  std::ofstream(listing) << "code for sm_80\n Function : f\n /*0000*/ EXIT ;\n";
  expect_model_refused(predict("--listing " + listing), 2,
                       "has no machine code for sm_70, the modelled one (it has some for sm_80); "
                       "allowed: what");
  std::ofstream(listing) << "code for sm_70\n Function : f\n /*0000*/ EXIT ;\n";
  expect_model_refused(predict("--listing " + listing + " --function f --threads 32 --whole"), 2,
                       "f: the listing has no encodings");
  expect_model_refused(predict("--listing " + listing + " --binary " + listing), 2, "--binary");
  expect_model_refused(predict("--function f --threads 32"), 2, "--binary FILE or --listing FILE");
}

}  // namespace
}  // namespace sparkbench
