// Layers of varlen batches and of patterns, from the flags to the records.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

using Json = nlohmann::json;

const std::string kLayer =
    "encoder --device emulated-v100 --headdim 64 --hidden 128 --ffn 256 --dropout 0.1 --rest "
    "fused,unfused "
    "--kernel volta-fp32acc,volta-fp16acc,unfused-fp16 ";

class EncoderLengths : public testing::Test {
 protected:
  std::string lengths_file(const std::string& text) {
    const std::string path = path_in(folder_, "lengths");
    std::ofstream(path) << text;
    return "--lengths file:" + path + " ";
  }
  static Json run_of(const std::string& arguments) {
    const ProgramResult result = run_sparkbench(arguments + " -q --json -");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }

  TemporaryFolder folder_;
};

/// With FP32 accumulators a part's error is below 2^-8; with FP16 ones a gradient's below twice
/// that.
void expect_verified(const Json& record, std::uint64_t rows) {
  EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
  const Json& errors = record["layer"]["errors"];
  EXPECT_EQ(errors.size(), record["problem"]["pass"] == "fwd" ? 9u : 22u);
  EXPECT_EQ(errors[0]["checked_elements"], rows * 128);
  for (const Json& error : errors) EXPECT_LT(error["rel_l2"], 0x1p-7) << error;
}

TEST_F(EncoderLengths, AreVerifiedWhole) {
  const Json run = run_of(kLayer + lengths_file("0\n1\n37\n131\n0\n7\n") +
                          "--mask causal --pass fwd,fwd+bwd --norm post,pre");
  ASSERT_EQ(run["cases"].size(), 24u);
  for (const Json& each : run["cases"]) {
    expect_verified(each, 176);
    EXPECT_EQ(each["problem"]["total_q"], 176);
    EXPECT_EQ(each["problem"]["batch"], 6);
    for (const Json& warning : each["warnings"]) EXPECT_NE(warning["code"], "W-SAMPLED-ROWS");
  }
}

/// 300 tokens of one sequence take 2.3 of the 3 GFLOP that are checked, 90 more take 2.8.
TEST_F(EncoderLengths, OfManyTokensTheFirstAreChecked) {
  const std::string flags =
      "encoder --device emulated-v100 --hidden 512 --ffn 512 --rest fused --dropout 0 "
      "--mask causal --kernel unfused-fp16 ";
  const Json run = run_of(flags + lengths_file("300\n0\n90\n400\n8000\n"));
  const Json& some = run["cases"][0];
  EXPECT_EQ(some["layer"]["errors"][0]["checked_elements"], 390 * 512) << some["reason"];
  ASSERT_EQ(some["warnings"][1]["code"], "W-SAMPLED-ROWS");
  EXPECT_EQ(some["warnings"][1]["value"], 390);
  EXPECT_EQ(some["warnings"][1]["message"], "the oracle checked the first of the sequences");
  const Json of_long = run_of(flags + lengths_file("0\n1000\n10\n"));
  EXPECT_EQ(of_long["cases"][0]["layer"]["errors"][0]["checked_elements"], (1000 - 896) * 512);
}

TEST_F(EncoderLengths, AreSmallerInMemoryAndTimeThanPadded) {
  const std::string flags =
      "encoder --device emulated-v100 --kernel volta-fp32acc --rest fused --dropout 0.1 --mask "
      "full --headdim 64 --pass fwd+bwd ";
  const Json packed = run_of(flags + lengths_file("2048\n512\n1024\n512\n"))["cases"][0];
  const Json padded = run_of(flags + "--seqlen 2k --batch 4")["cases"][0];
  EXPECT_EQ(packed["reason"]["code"], "E-ONLY-PREDICTED");
  EXPECT_LT(packed["flops"], padded["flops"].get<double>() / 2);  // half of the tokens, fewer pairs
  EXPECT_LT(packed["memory_bytes"]["predicted"], padded["memory_bytes"]["predicted"]);
  const auto likely = [](const Json& record) {
    return record["predicted"]["time_ms"]["likely"].get<double>();
  };
  EXPECT_LT(likely(packed), 0.6 * likely(padded));
  EXPECT_GT(likely(packed), 0.3 * likely(padded));
}

TEST_F(EncoderLengths, ReproRepeatsTheCaseAndResumeFindsIt) {
  const std::string arguments =
      "encoder --device emulated-v100 --hidden 128 --ffn 256 --dropout 0.1 --mask causal --rest "
      "fused --kernel volta-fp32acc --lengths uniform:0:40 --batch 5 --seed 3 -q ";
  const Json only = run_of(arguments)["cases"][0];
  const std::string repro = only["repro"];
  EXPECT_TRUE(contains(repro, "--lengths uniform:0:40") && !contains(repro, "--seqlen")) << repro;
  const Json again = run_of(repro.substr(std::string("sparkbench ").size()))["cases"][0];
  EXPECT_EQ(again["config_hash"], only["config_hash"]);
  EXPECT_EQ(again["layer"]["errors"], only["layer"]["errors"]);
  const std::string run = path_in(folder_, "run"), record = path_in(folder_, "again.json");
  ASSERT_EQ(run_sparkbench(arguments + "--out " + run).exit_code, 0);
  EXPECT_EQ(run_sparkbench("encoder --resume " + run).exit_code, 0);
  ASSERT_EQ(run_sparkbench(arguments + "--json " + record).exit_code, 0);
  EXPECT_EQ(run_sparkbench("diff " + run + " " + record).exit_code, 0);
  const ProgramResult report = run_sparkbench("report " + run);
  EXPECT_TRUE(contains(report.out, "lengths uniform:0:40")) << report.out;
}

TEST_F(EncoderLengths, OfNothingAreSkipped) {
  const ProgramResult result =
      run_sparkbench(kLayer + "--lengths uniform:0:0 --batch 3 --mask full -q --json -");
  EXPECT_EQ(result.exit_code, 2);
  const Json run = Json::parse(result.out);
  EXPECT_FALSE(run["cases"].empty());
  for (const Json& each : run["cases"]) {
    EXPECT_EQ(each["status"], "skipped");
    EXPECT_EQ(each["reason"]["code"], "E-UNSUPPORTED");
    EXPECT_EQ(each["reason"]["message"], "there are no tokens, and so no layer to compute");
  }
}

TEST_F(EncoderLengths, OfOtherKeysThanRowsAreNoLayer) {
  expect_refused(run_sparkbench(kLayer + lengths_file("4\n3 4\n")), 2,
                 "has a sequence with other keys than rows");
}

TEST_F(EncoderLengths, PatternsAreVerifiedForwardAndBackward) {
  const Json run = run_of(kLayer +
                          "--seqlen 72 --batch 1 --pass fwd,bwd --mask "
                          "sink:4+window:9,window:9/full,nd:6x12:3x5");
  ASSERT_EQ(run["cases"].size(), 36u);
  for (const Json& each : run["cases"]) {
    expect_verified(each, 72);
    EXPECT_FALSE(each["predicted"].is_null()) << each["id"];
    EXPECT_EQ(each["mask_work"]["why_no_plan"].is_null(), each["kernel"] != "unfused-fp16")
        << each["id"];
  }
}

}  // namespace
}  // namespace sparkbench
