// Axes from the flag to the report, mostly masks, on the emulated V100.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

// Only the reference: the kernels' masks are tested in kernels/.
const std::string kSweep =
    "sweep --device emulated-v100 --kernel unfused-fp16 --headdim 64 --seqlen 9 --dropout 0 "
    "--heads 1 --batch 1 ";

nlohmann::json json_of(const std::string& arguments) {
  const ProgramResult result = run_sparkbench(arguments + " --json -");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

std::vector<std::string> ids_of(const nlohmann::json& document) {
  std::vector<std::string> ids;
  for (const auto& record : document["cases"]) ids.push_back(record["id"]);
  return ids;
}

const std::string kId = "unfused-fp16/fwd/b1/h1/sq9/sk9/d64/";

TEST(Mask, IsRefusedInOneLine) {
  expect_refused(run_sparkbench(kSweep + "--mask windows:3"), 2,
                 "--mask: 'windows:3' is no mask, did you mean 'window:3'?; allowed: full, ");
  expect_refused(run_sparkbench(kSweep + "--mask sink:4+windows:3"), 2,
                 "--mask: 'windows:3' of 'sink:4+windows:3' is no mask, did you mean 'window:3'?");
  expect_refused(run_sparkbench(kSweep + "--mask window:0"), 2, "--mask: 'window:0' has a number");
  expect_refused(run_sparkbench(kSweep + "--mask full,"), 2, "--mask: 'full,' has an empty item");
}

TEST(Mask, IsRefusedBesideItsShorthand) {
  expect_refused(run_sparkbench(kSweep + "--mask full --causal true"), 2, "--mask and --causal:");
}

TEST(Mask, IsNamedInIdsInTheOrderTyped) {
  const auto planned =
      json_of(kSweep + "--mask window:3,full,causal,band:2:1,prefix:4,full --dry-run");
  EXPECT_EQ(ids_of(planned),
            std::vector<std::string>({kId + "window:3/p0", kId + "full/p0", kId + "causal/p0",
                                      kId + "band:2:1/p0", kId + "prefix:4/p0"}));
}

TEST(Mask, HasTheSameHashesByItsShorthand) {
  const auto by_mask = json_of(kSweep + "--dry-run --mask full,causal");
  const auto by_causal = json_of(kSweep + "--dry-run --causal both");
  EXPECT_EQ(by_mask, by_causal);
}

TEST(Mask, IsInRecordReproAndCsv) {
  const TemporaryFolder folder;
  const auto run = json_of(kSweep + "-q --no-verify --mask causal,window:3 --csv " +
                           path_in(folder, "cases.csv"));
  const auto& causal = run["cases"][0];
  const auto& window = run["cases"][1];
  EXPECT_EQ(causal["problem"]["mask"], "causal");
  EXPECT_EQ(causal["problem"]["causal"], true);
  EXPECT_EQ(window["problem"]["mask"], "window:3");
  EXPECT_EQ(window["problem"]["causal"], false);
  EXPECT_TRUE(contains(window["repro"], " --mask window:3 ")) << window["repro"];
  std::ifstream csv(folder.path() / "cases.csv");
  std::string header, first, second;
  std::getline(csv, header) && std::getline(csv, first) && std::getline(csv, second);
  EXPECT_TRUE(contains(header, ",head_dim,causal,mask,dropout_p,")) << header;
  EXPECT_TRUE(contains(first, ",64,true,causal,0,")) << first;
  EXPECT_TRUE(contains(second, ",64,false,window:3,0,")) << second;
}

TEST(DropoutScale, IsVerifiedAndRecorded) {
  const auto run = json_of(
      "sweep --device emulated-v100 --kernel unfused-fp16,volta-fp32acc --pass fwd,bwd --headdim "
      "64 "
      "--seqlen 40 --heads 1 --batch 1 --mask full -q --dropout 0.17 --dropout-scale "
      "applied,asked");
  ASSERT_EQ(run["cases"].size(), 8u);
  for (const auto& record : run["cases"]) {
    const std::string scale = record["problem"]["dropout_scale"];
    EXPECT_EQ(record["status"], "ok") << record["id"];
    EXPECT_EQ(std::string(record["id"]).ends_with("/scale-asked"), scale == "asked");
    EXPECT_TRUE(contains(record["repro"], " --dropout-scale " + scale)) << record["repro"];
  }
  expect_refused(run_sparkbench(kSweep + "--dropout-scale mean"), 2, "--dropout-scale: ");
}

TEST(Mask, HeadsItsColumnWhereItVaries) {
  const ProgramResult result = run_sparkbench(kSweep + "--no-verify --mask full,window:3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "\n    mask  ")) << result.out;
  EXPECT_TRUE(contains(result.out, "\nwindow:3  ")) << result.out;
}

TEST(Mask, IsTakenUpWhenARunIsResumed) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  const std::string masks = "--no-verify -q --mask causal,window:3";
  ASSERT_EQ(run_sparkbench(kSweep + masks + " --shard 1/2 --out " + run).exit_code, 0);
  const ProgramResult resumed = run_sparkbench("sweep --resume " + run + " --shard=1/1 --json -");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const auto document = nlohmann::json::parse(resumed.out);
  EXPECT_EQ(ids_of(document), std::vector<std::string>({kId + "causal/p0", kId + "window:3/p0"}));
  const auto left = json_of("sweep --resume " + run + " --shard=1/1 --dry-run");
  EXPECT_TRUE(left["cases"].empty()) << left;
}

const std::string kGroups =
    "sweep --device emulated-v100 --headdim 64 --seqlen 40 "
    "--dropout 0.1 --causal true --heads 4 --batch 1 ";

TEST(HeadsK, AreVerifiedInEveryPass) {
  for (const std::string pass : {"--pass fwd,bwd,fwd+bwd ", "--pass bwd --deterministic "}) {
    const auto run =
        json_of(kGroups + pass + "--kernel volta-fp32acc,unfused-fp16 --heads-k 1,2,4 -q");
    for (const auto& record : run["cases"]) EXPECT_EQ(record["status"], "ok") << record["id"];
  }
}

TEST(HeadsK, AreInIdAndRecordWhereFewer) {
  const auto planned = json_of(kGroups + "--kernel unfused-fp16 --heads-k 2,4 --dry-run");
  EXPECT_EQ(ids_of(planned),
            std::vector<std::string>({"unfused-fp16/fwd/b1/h4/sq40/sk40/d64/causal/p0.1/hk2",
                                      "unfused-fp16/fwd/b1/h4/sq40/sk40/d64/causal/p0.1"}));
  EXPECT_EQ(planned["cases"][0]["problem"]["heads_k"], 2);
  EXPECT_EQ(planned["cases"][1]["problem"]["heads_k"], 4);
  EXPECT_EQ(planned["cases"][0]["flops"], planned["cases"][1]["flops"]);
  EXPECT_EQ(planned["cases"][1]["bytes"].get<int>() - planned["cases"][0]["bytes"].get<int>(),
            2 * 2 * 40 * 64 * 2);
  EXPECT_TRUE(contains(planned["cases"][0]["repro"], " --heads-k 2 ")) << planned["cases"][0];
}

TEST(HeadsK, AreRefusedWhereTheyDoNotDivideHeads) {
  expect_refused(run_sparkbench(kGroups + "--heads-k 1,3"), 2,
                 "--heads-k: 3 does not divide the 4 heads; allowed: 1, 2, 4");
  expect_refused(run_sparkbench(kGroups + "--heads-k 0"), 2, "--heads-k:");
  expect_refused(run_sparkbench(kGroups + "--heads-k two"), 2, "--heads-k:");
}

TEST(Repro, RepeatsTheCase) {
  const auto planned = json_of(kSweep + "--dry-run --seqlen 9 --seqlen-k 11 --mask band:2:1");
  const std::string repro = planned["cases"][0]["repro"];
  ASSERT_TRUE(repro.starts_with("sparkbench sweep ")) << repro;
  EXPECT_EQ(json_of(repro.substr(std::string("sparkbench ").size()) + " --dry-run"), planned);
}

TEST(DryRun, WritesTheCasesAsTheirRecordsHaveThem) {
  const TemporaryFolder folder;
  const std::string sweep = kSweep + "--no-verify --causal both ";
  const ProgramResult listed =
      run_sparkbench(sweep + "--dry-run --json " + path_in(folder, "plan.json"));
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_TRUE(contains(listed.out, "2 cases, at most ")) << listed.out;
  std::ifstream file(folder.path() / "plan.json");
  const auto planned = nlohmann::json::parse(file);
  const auto run = json_of(sweep + "-q");
  ASSERT_EQ(planned["cases"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const auto& [name, value] : planned["cases"][i].items()) {
      EXPECT_EQ(value, run["cases"][i][name]) << name;
    }
  }
}

TEST(DryRun, SaysWhyACaseWillBeSkipped) {
  const auto planned = json_of(
      "sweep --dry-run --device emulated-v100 --kernel volta-fp32acc --headdim 100 --seqlen 9 "
      "--batch 1 --heads 1 --mask full --dropout 0");
  EXPECT_EQ(planned["cases"][0]["status"], "skipped");
  EXPECT_EQ(planned["cases"][0]["reason"]["code"], "E-UNSUPPORTED");
}

TEST(Axes, AreInTheListAndInTheHelp) {
  const ProgramResult list = run_sparkbench("list"), help = run_sparkbench("sweep --help");
  for (const Axis& axis : axes()) {
    const std::string flag = fmt::format("  {} ", axis.flag);
    EXPECT_TRUE(contains(list.out, flag)) << flag;
    EXPECT_TRUE(contains(list.out, fmt::format("[{}]", axis.initial))) << flag;
    EXPECT_TRUE(contains(help.out, flag)) << flag;
  }
  EXPECT_TRUE(contains(list.out, "  --causal ")) << list.out;
}

}  // namespace
}  // namespace sparkbench
