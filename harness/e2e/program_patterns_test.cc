// --mask with patterns, from the flag to the record, on the emulated V100.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"
#include "kernels/testing/nightly.h"

namespace sparkbench {
namespace {

const std::string kPatternProblem =
    "--device emulated-v100 --headdim 64 --seqlen 72 --heads 3 --batch 1 ";
const std::string kPatternSweep = "sweep --kernel unfused-fp16 " + kPatternProblem;
const std::string kHeadDims = is_nightly() ? "--headdim 64,128,256 " : "--headdim 64,128 ";

nlohmann::json cases_of(const std::string& arguments) {
  const ProgramResult result = run_sparkbench(arguments + " -q --json -");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out)["cases"];
}

TEST(PatternProgram, ReferencesAreVerifiedForwardAndBackward) {
  const auto cases = cases_of(
      kPatternSweep +
      "--pass fwd,bwd --dropout 0,0.2 --mask "
      "blocked:16,strided:8,sink:4+window:9,window:9/full,nd:6x12:3x5,causal-documents:20");
  ASSERT_EQ(cases.size(), 24u);
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    EXPECT_EQ(record["problem"]["causal"], false);
    EXPECT_EQ(record["mask_work"]["pairs_executed"], 3 * 72 * 72);
    EXPECT_FALSE(record["mask_work"]["why_no_plan"].is_null());
    EXPECT_EQ(record["predicted"].is_null(), false) << record["id"];
  }
}

TEST(PatternProgram, EveryKernelIsOkOrSaysWhyNot) {
  for (const auto& record :
       cases_of("sweep " + kPatternProblem + "--mask sink:4+window:9 --dropout 0")) {
    if (record["status"] == "ok") continue;
    EXPECT_EQ(record["status"], "skipped") << record["id"] << record["reason"];
    EXPECT_EQ(record["reason"]["code"], "E-UNSUPPORTED");
  }
}

/// SPLAT's chain, which runs only if it is named.
TEST(PatternProgram, ABaselineRunsWhereItIsNamed) {
  const std::string flags =
      kPatternProblem + "--dropout 0 --pass fwd,bwd --mask strided:8,sink:4+window:9 ";
  const auto count = [](const nlohmann::json& cases) {
    return std::count_if(cases.begin(), cases.end(), [](const nlohmann::json& record) {
      return record["kernel"] == "acsr-unfused";
    });
  };
  EXPECT_EQ(count(cases_of("sweep --dry-run " + flags)), 0);
  EXPECT_EQ(count(cases_of("sweep --dry-run --kernel * " + flags)), 0);
  EXPECT_EQ(count(cases_of("sweep --dry-run --kernel *unfused* " + flags)), 4);
  for (const auto& record : cases_of("sweep --kernel acsr-unfused " + flags)) {
    if (record["problem"]["mask"] == "strided:8") {
      EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
      EXPECT_FALSE(record["predicted"].is_null()) << record["id"];
    } else {
      EXPECT_EQ(record["status"], "skipped");
      const std::string why = record["reason"]["message"];
      EXPECT_NE(why.find("which is no ACSR: the keys of row"), std::string::npos) << why;
    }
  }
}

/// Each 16 x 16 x 4 product of halves is an mma with 2048 FLOPs, and each pair needs two.
TEST(PatternProgram, PlansCountWhatTheMachineMultiplies) {
  for (const auto& record :
       cases_of("sweep --kernel volta-* --device emulated-v100 --seqlen 256 " + kHeadDims +
                "--heads 3 --batch 2 --dropout 0 --mask "
                "window:40+window:3/full,chunk:128,strided:3,dilated:40:2")) {
    ASSERT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    const auto& work = record["mask_work"];
    EXPECT_TRUE(work["why_no_plan"].is_null()) << record["id"];
    EXPECT_EQ(record["emulation"]["mma"].get<std::uint64_t>() * 2048,
              work["pairs_executed"].get<std::uint64_t>() * 4 *
                  record["problem"]["head_dim"].get<std::uint64_t>())
        << record["id"];
    EXPECT_GE(work["pairs_executed"], work["pairs_visible"]);
    // Bands of residues, here with 128 tokens, have no lists.
    EXPECT_EQ(work["metadata_bytes"] > 0, record["problem"]["mask"] != "dilated:40:2")
        << record["id"];
  }
}

/// A wgmma with N columns is 32 N FLOPs for each of its warps: 64 keys of S, head_dim columns of P
/// V; both have steps of 16.
TEST(PatternProgram, PlansCountWhatHoppersWarpgroupsMultiply) {
  for (const auto& record : cases_of(
           "sweep --kernel hopper-* --device emulated-h100 --seqlen 448 " + kHeadDims +
           "--heads 2 --batch 2 --dropout 0 --mask window:40+window:3/full,chunk:128,sink:2")) {
    ASSERT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    const auto& work = record["mask_work"];
    EXPECT_TRUE(work["why_no_plan"].is_null()) << record["id"];
    constexpr std::uint64_t kPairs = 64 * 64;  // in a warpgroup's part of a tile
    const std::uint64_t steps = record["problem"]["head_dim"].get<std::uint64_t>() / 16 + 64 / 16;
    EXPECT_EQ(work["pairs_executed"].get<std::uint64_t>() % kPairs, 0) << record["id"];
    EXPECT_EQ(record["emulation"]["mma"].get<std::uint64_t>(),
              work["pairs_executed"].get<std::uint64_t>() / kPairs * 4 * steps)
        << record["id"];
    EXPECT_GE(work["pairs_executed"], work["pairs_visible"]);
  }
}

TEST(PatternProgram, RecordsSayWhatIsVisible) {
  const auto record =
      cases_of(kPatternSweep + "--mask window:1k/full/sink:4+sink:4+window:1k --dropout 0")[0];
  EXPECT_EQ(record["problem"]["mask"], "window:1024/full/sink:4+window:1024");
  EXPECT_EQ(record["id"],
            "unfused-fp16/fwd/b1/h3/sq72/sk72/d64/window:1024~full~sink:4+window:1024/p0");
  const int causal = 72 * 73 / 2, pairs = 2 * causal + 72 * 72;
  EXPECT_EQ(record["mask_work"]["pairs_visible"], pairs);
  EXPECT_EQ(record["mask_work"]["density"], pairs / (3.0 * 72 * 72));
  EXPECT_EQ(record["flops"], 4 * 64 * pairs);
}

TEST(PatternProgram, ReproRepeatsTheCase) {
  const auto first = cases_of(kPatternSweep + "--mask dilated:3:4/full --dropout 0.1 --seed 5")[0];
  const std::string line = first["repro"];
  EXPECT_TRUE(contains(line, "--mask dilated:3:4/full ")) << line;
  const auto again = cases_of(line.substr(std::string("sparkbench ").size()))[0];
  EXPECT_EQ(again["config_hash"], first["config_hash"]);
  EXPECT_EQ(again["accuracy"]["output_hash"], first["accuracy"]["output_hash"]);
}

TEST(PatternProgram, AWindowInOtherWordsHasItsErrors) {
  const auto cases = cases_of(kPatternSweep + "--mask window:9,window:9+window:3 --dropout 0.1");
  EXPECT_EQ(cases[0]["accuracy"], cases[1]["accuracy"]);
  EXPECT_EQ(cases[0]["flops"], cases[1]["flops"]);
}

TEST(PatternProgram, TablesAndReportsTellTheDensity) {
  const ProgramResult table =
      run_sparkbench(kPatternSweep + "--no-progress --mask chunk:36,full --dropout 0");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "  density  ")) << table.out;
  EXPECT_TRUE(contains(table.out, "50.0")) << table.out;
  const ProgramResult run = run_sparkbench("run --no-progress --kernel unfused-fp16 " +
                                           kPatternProblem + "--mask chunk:36 --dropout 0");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "visible pairs        7776, 50 % of all")) << run.out;
  EXPECT_TRUE(contains(run.out, "executed pairs       15552, 2 times as many")) << run.out;
}

TEST(PatternProgram, AccuracyComparesThem) {
  const ProgramResult result =
      run_sparkbench("accuracy --no-progress --kernel unfused-fp16 " + kPatternProblem +
                     "--mask chunk:36,strided:9 --dropout 0");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "chunk:36")) << result.out;
  EXPECT_TRUE(contains(result.out, "strided:9")) << result.out;
}

TEST(PatternProgram, WhatDoesNotFitIsRefused) {
  expect_refused(run_sparkbench(kPatternSweep + "--mask nd:6x6:3x3"), 2,
                 "--mask: 'nd:6x6:3x3' of 72 rows and 72 keys: ");
  expect_refused(run_sparkbench(kPatternSweep + "--mask zones:/no/such/file"), 2,
                 "--mask: 'zones:/no/");
  expect_refused(run_sparkbench(kPatternSweep + "--mask zones:"), 2,
                 "--mask: 'zones:' names no file");
  expect_refused(run_sparkbench(kPatternSweep + "--mask strided:0"), 2,
                 "--mask: 'strided:0' has a numb");
  expect_refused(run_sparkbench("sweep --lengths uniform:1:9 --mask chunk:4"), 2,
                 "--mask: 'chunk:4' is a pattern over one length, but --lengths");
}

TEST(PatternProgram, AChangedFileIsAnotherCase) {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "zones");
  const auto id_of = [&](const char* text) {
    std::ofstream(path) << text;
    const auto record = cases_of(kPatternSweep + "--dropout 0 --mask zones:" + path)[0];
    EXPECT_EQ(record["status"], "ok") << record["reason"];
    EXPECT_EQ(std::string(record["problem"]["zones_hash"]).size(), 16u);
    return std::string(record["id"]);
  };
  EXPECT_NE(id_of("d=-3:1\n"), id_of("d=-4:1\n"));
  EXPECT_FALSE(contains(id_of("d=-4:1\n"), path));
}

/// The compared sample of a long sequence contains the rows where the pattern changes.
TEST(PatternProgram, LongOnesAreSampled) {
  for (const std::string pass : {"fwd", "bwd"}) {
    const auto record = cases_of(
        "sweep --device emulated-v100 --kernel unfused-fp16 --headdim 64 --batch 1 --heads 2 "
        "--seqlen 4k --dropout 0 --mask longformer:256:16 --pass " +
        pass)[0];
    EXPECT_EQ(record["status"], "ok") << record["reason"];
    bool is_sampled = false;
    for (const auto& warning : record["warnings"])
      is_sampled |= warning["code"] == "W-SAMPLED-ROWS";
    EXPECT_TRUE(is_sampled);
  }
}

}  // namespace
}  // namespace sparkbench
