// What the program writes, where, and what it leaves after a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

const std::string kTinySweep =
    "sweep --device emulated-v100 --kernel volta-fp??acc,unfused-fp16 --headdim 64 --seqlen 9 "
    "--causal true --dropout 0.1 --heads 1 --batch 1 ";

TEST(OutputPath, InAMissingFolderIsRefusedAtOnce) {
  const TemporaryFolder folder;
  for (const std::string flag : {"--json", "--csv", "--md"}) {
    const std::string path = path_in(folder, "missing/result");
    expect_refused(
        run_sparkbench(kTinySweep + flag + " " + path + " --out " + path_in(folder, "run")), 5,
        path);
    EXPECT_EQ(folder.entries(), 0) << flag;
  }
}

TEST(OutputPath, BelowAFileOrAtFoldersIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "kept";
  expect_refused(run_sparkbench(kTinySweep + "--json " + path_in(folder, "file/result.json")), 5,
                 "file/result.json");
  expect_refused(run_sparkbench(kTinySweep + "--json " + path_in(folder, "")), 5, "--json");
  expect_refused(run_sparkbench(kTinySweep + "--out " + path_in(folder, "file")), 5, "file");
  EXPECT_EQ(text_of_file(folder.path() / "file"), "kept");
}

TEST(OutputFolder, ThatHoldsSomethingIsRefusedAndKept) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "cases.jsonl") << "kept";
  expect_refused(run_sparkbench(kTinySweep + "--out " + path_in(folder, "")), 5, "not empty");
  EXPECT_EQ(text_of_file(folder.path() / "cases.jsonl"), "kept");
}

TEST(OutputFolder, IsNotMadeForABadCommandLine) {
  const TemporaryFolder folder;
  const std::string out = "--out " + path_in(folder, "run");
  for (const std::string bad : {"--kernel none", "--tag night", "--input gaussian", "--seqlen 0"}) {
    expect_refused(run_sparkbench("sweep --device emulated-v100 " + bad + " " + out), 2, "--");
    EXPECT_EQ(folder.entries(), 0) << bad;
  }
}

TEST(StandardOutput, TakesOneOutputOnly) {
  expect_refused(run_sparkbench(kTinySweep + "--json - --csv -"), 2,
                 "--json and --csv: both write to '-'");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Json, OnStandardOutputIsAlone) {
  const ProgramResult result = run_sparkbench(kTinySweep + "--json - --tag night=1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto run = nlohmann::json::parse(result.out);
  EXPECT_EQ(run["run"]["tags"]["night"], "1");
  EXPECT_EQ(run["run"]["exit_code"], 0);
  EXPECT_EQ(run["run"]["complete"], true);
  EXPECT_EQ(run["environment"]["device"]["kind"], "emulated");
  EXPECT_TRUE(contains(result.err, "3 ok")) << result.err;
}

TEST(Json, HasErrorsAndNoTimeOfEmulatedDevices) {
  const auto run = nlohmann::json::parse(run_sparkbench(kTinySweep + "-q --json -").out);
  const auto& cases = run["cases"];
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0]["id"], "unfused-fp16/fwd/b1/h1/sq9/sk9/d64/causal/p0.1");
  EXPECT_EQ(cases[1]["id"], "volta-fp16acc/fwd/b1/h1/sq9/sk9/d64/causal/p0.1");
  EXPECT_EQ(cases[2]["id"], "volta-fp32acc/fwd/b1/h1/sq9/sk9/d64/causal/p0.1");
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["reason"];
    EXPECT_TRUE(record["time_ms"].is_null());
    EXPECT_EQ(record["warnings"][0]["code"], "W-EMULATED-NO-TIME");
    EXPECT_EQ(record["accuracy"]["checked_elements"], 9 * 64);
    EXPECT_GT(record["accuracy"]["rel_l1"], 0.0);
    EXPECT_LT(record["accuracy"]["rel_l1"], 0.01);
    EXPECT_EQ(record["emulation"].is_null(), record["role"] == "reference");
  }
  EXPECT_GT(cases[1]["emulation"]["mma"], 0);
  EXPECT_EQ(cases[1]["emulation"]["races"], 0);
}

TEST(Json, NamesLibrariesAndOriginOfEveryCase) {
  const auto run = nlohmann::json::parse(run_sparkbench(kTinySweep + "-q --json -").out);
  EXPECT_EQ(run["schema"]["version"], "1.14.0");
  EXPECT_EQ(run["run"]["resolved"]["kernel"], "volta-fp\?\?acc,unfused-fp16");
  for (const auto& record : run["cases"]) {
    EXPECT_EQ(record["libraries"], nlohmann::json::object());  // an emulator calls none
    EXPECT_TRUE(record["device_state"].is_null());
    EXPECT_EQ(record["provenance"]["run_id"], run["run"]["id"]);
    EXPECT_EQ(record["provenance"]["device_name"], "V100");
    EXPECT_EQ(record["provenance"]["device_kind"], "emulated");
    EXPECT_EQ(record["provenance"]["git_sha"], run["build"]["git_sha"]);
  }
}

TEST(Csv, OnStandardOutputHasALinePerCase) {
  const ProgramResult result = run_sparkbench(kTinySweep + "--csv - --tag night=1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].ends_with(",tag_night")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with(",1")) << lines[1];
  EXPECT_TRUE(contains(lines[2], "volta-fp16acc/fwd/b1/h1/sq9/sk9/d64/causal/p0.1")) << lines[1];
}

/// The number of columns in a CSV table.
std::size_t columns_of(const std::string& csv) {
  const std::string head = lines_of(csv).at(0);
  return static_cast<std::size_t>(1 + std::count(head.begin(), head.end(), ','));
}

TEST(Csv, HasAllColumnsWhereItIsAskedFor) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  const ProgramResult few = run_sparkbench(kTinySweep + "--csv - --out " + run);
  ASSERT_EQ(few.exit_code, 0) << few.err;
  const ProgramResult all = run_sparkbench("report --csv - --csv-all " + run);
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.out, text_of_file(folder.path() / "run/cases.csv"));
  EXPECT_LT(2 * columns_of(few.out), columns_of(all.out));
  EXPECT_TRUE(contains(lines_of(few.out)[0], ",pass,batch,heads,seqlen_q,seqlen_k,head_dim,"));
  expect_refused(run_sparkbench("report --csv-all " + run), 2, "--csv-all requires --csv");
  EXPECT_EQ(run_sparkbench("sweep --resume " + run + " -q").exit_code, 0);
}

TEST(Csv, IsNotAskedForAgainByAResume) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  const std::string csv = " --csv " + path_in(folder, "all.csv") + " --csv-all";
  ASSERT_EQ(run_sparkbench(kTinySweep + "-q --out " + run + csv).exit_code, 0);
  const ProgramResult resumed = run_sparkbench("sweep --resume " + run);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST(Markdown, OnStandardOutputIsATable) {
  const ProgramResult result = run_sparkbench(kTinySweep + "--md -");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "| volta-fp32acc")) << result.out;
  EXPECT_TRUE(contains(result.out, "3 ok")) << result.out;
}

TEST(OutputFolder, HoldsTheJournalAndWhatFollowsFromIt) {
  const TemporaryFolder folder;
  const ProgramResult result = run_sparkbench(kTinySweep + "--out " + path_in(folder, "deep/run"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::filesystem::path run = folder.path() / "deep/run";
  EXPECT_EQ(lines_of(text_of_file(run / "cases.jsonl")).size(), 3u);
  EXPECT_EQ(lines_of(text_of_file(run / "cases.csv")).size(), 4u);
  EXPECT_TRUE(contains(text_of_file(run / "summary.md"), "3 ok"));
  const auto record = nlohmann::json::parse(text_of_file(run / "run.json"));
  EXPECT_EQ(record["cases"].size(), 3u);
  EXPECT_EQ(record["run"]["exit_code"], 0);
}

TEST(OutputFile, IsWrittenBesideTheTableAndAlone) {
  const TemporaryFolder folder;
  const ProgramResult result = run_sparkbench(kTinySweep + "--json " + path_in(folder, "run.json"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "3 ok")) << result.out;
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(nlohmann::json::parse(text_of_file(folder.path() / "run.json"))["cases"].size(), 3u);
}

TEST(Quiet, LeavesOnlyWhatWasAskedFor) {
  const ProgramResult result = run_sparkbench(kTinySweep + "--quiet");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "");
}

TEST(OutputFile, IsNeverAFileOfTheRunItself) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kTinySweep + "-q --out " + run).exit_code, 0);
  const std::string journal = text_of_file(folder.path() / "run/cases.jsonl");
  const std::string says = "is a file of the run '" + run + "'";
  for (const std::string file : {"--csv /cases.jsonl", "--json /cases.jsonl", "--csv /run.json"}) {
    const std::size_t space = file.find(' ');
    const std::string flag = file.substr(0, space + 1) + run + file.substr(space + 1);
    expect_refused(run_sparkbench("report " + run + " " + flag), 2, says);
    expect_refused(run_sparkbench("sweep --resume " + run + " " + flag), 2, says);
  }
  expect_refused(run_sparkbench("merge " + run + " -o " + run + "/run.json"), 2, says);
  EXPECT_EQ(text_of_file(folder.path() / "run/cases.jsonl"), journal);
  EXPECT_EQ(run_sparkbench("report " + run + " --csv " + run + "/cases.csv").exit_code, 0);
}

TEST(DryRun, ChecksWhereTheRunWouldWrite) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "kept";
  expect_refused(run_sparkbench(kTinySweep + "--dry-run --out " + folder.path().string()), 5,
                 "not empty");
  expect_refused(run_sparkbench(kTinySweep + "--dry-run --csv " + path_in(folder, "no/x.csv")), 5,
                 "--csv");
  EXPECT_EQ(run_sparkbench(kTinySweep + "--dry-run --out " + path_in(folder, "new")).exit_code, 0);
  EXPECT_EQ(folder.entries(), 1);
}

}  // namespace
}  // namespace sparkbench
