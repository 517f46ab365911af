// The commands on stored runs: report, merge, diff; and the shards that merge puts together.
#include "harness/session/stored_runs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/test_program.h"
#include "results/record/test_run.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/schema_check.h"

namespace sparkbench {
namespace {

const std::string kSweep =
    "sweep -q --device emulated-v100 --kernel unfused-fp16,volta-fp32acc --headdim 64 "
    "--seqlen 9,17,33 --causal both --dropout 0.1 --heads 1 --batch 1 ";

/// Everything but times, and who measured when.
std::string lasting_part(RunRecord run) {
  run.run = RunInfo{.resolved = run.run.resolved, .seed = run.run.seed};
  for (CaseRecord& record : run.cases) {
    record.elapsed_s.reset();
    if (record.emulation) record.emulation->host_seconds = 0;
  }
  return run_to_json(run);
}

TEST(MergeCommand, MakesOfShardsWhatTheUnshardedSweepMakes) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + path_in(folder, "whole")).exit_code, 0);
  std::string paths;
  for (const std::string i : {"3", "1", "2"}) {
    const std::string out = path_in(folder, "part" + i);
    ASSERT_EQ(run_sparkbench(kSweep + "--shard " + i + "/3 --out " + out).exit_code, 0);
    paths += out + " ";
  }
  const ProgramResult merged = run_sparkbench("merge " + paths + "-o " + path_in(folder, "merged"));
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(merged.err, "3 runs: 12 ok, 0 incorrect, 0 skipped, 0 failed\n");
  EXPECT_EQ(lasting_part(load_run(path_in(folder, "merged"))),
            lasting_part(load_run(path_in(folder, "whole"))));
  EXPECT_TRUE(load_run(path_in(folder, "merged")).run.complete);
  const std::string text = text_of_file(folder.path() / "merged/run.json");
  EXPECT_EQ(schema_violations(text_of_file(SPARKBENCH_RUN_SCHEMA), text),
            std::vector<std::string>());
}

TEST(MergeCommand, TakesFilesAndWritesOne) {
  const TemporaryFolder folder;
  for (const std::string i : {"1", "2"}) {
    const std::string file = path_in(folder, "part" + i + ".json");
    ASSERT_EQ(run_sparkbench(kSweep + "--shard " + i + "/2 --json " + file).exit_code, 0);
  }
  const std::string parts = path_in(folder, "part1.json") + " " + path_in(folder, "part2.json");
  EXPECT_EQ(run_sparkbench("merge " + parts + " -o " + path_in(folder, "all.json")).exit_code, 0);
  EXPECT_EQ(load_run(path_in(folder, "all.json")).cases.size(), 12u);
  expect_refused(run_sparkbench("merge " + parts), 2, "say where to");
  expect_refused(run_sparkbench("merge " + parts + " " + path_in(folder, "part1.json") + " -o " +
                                path_in(folder, "twice")),
                 2, "to keep the last one, --allow duplicates");
  EXPECT_EQ(run_sparkbench("merge --allow duplicates " + parts + " " +
                           path_in(folder, "part1.json") + " -o " + path_in(folder, "twice"))
                .exit_code,
            0);
}

TEST(ReportCommand, PrintsAStoredRunAndWritesItsFiles) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + run).exit_code, 0);
  const ProgramResult report = run_sparkbench("report " + run);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(contains(report.out, "12 ok, 0 incorrect")) << report.out;
  const ProgramResult csv = run_sparkbench("report --csv - " + run);
  EXPECT_EQ(csv.out, text_of_file(folder.path() / "run/cases.csv"));
  expect_refused(run_sparkbench("report " + path_in(folder, "none")), 2, "cannot be read");
}

TEST(DiffCommand, EndsInOneForWhatFailsIt) {
  const TemporaryFolder folder;
  RunRecord first = sample_run();
  first.cases = {sample_timed_case()};
  first.cases[0].time_ms->samples = {0.823, 0.824, 0.825};
  RunRecord second = first;
  for (double& sample : second.cases[0].time_ms->samples) sample *= 3;
  second.cases[0].time_ms->median *= 3;
  write_file(folder.path() / "a.json", run_to_json(first));
  write_file(folder.path() / "b.json", run_to_json(second));
  const std::string a = path_in(folder, "a.json"), b = path_in(folder, "b.json");
  const ProgramResult slower = run_sparkbench("diff " + a + " " + b);
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_TRUE(contains(slower.out, "1 slow; the second run takes 3.000 times as long"))
      << slower.out;
  EXPECT_EQ(run_sparkbench("diff " + b + " " + a).exit_code, 0);
  EXPECT_EQ(run_sparkbench("diff --fail-on fast " + b + " " + a).exit_code, 1);
  EXPECT_EQ(run_sparkbench("diff --fail-on nothing " + a + " " + b).exit_code, 0);
  EXPECT_EQ(run_sparkbench("diff " + a + " " + a).out,
            "1 same; the second run takes 1.000 times as long (geometric mean).\n");
  EXPECT_EQ(run_sparkbench("diff --fail-on bad " + a + " " + b).exit_code, 2);
}

TEST(Profile, IsRefusedWhereNoProfilerSees) {
  expect_refused(run_sparkbench(kSweep + "--profile"), 2, "--profile: emulated-v100 is no GPU");
}

TEST(InfoCheck, SaysWhetherTheMachineIsFit) {
  const ProgramResult result = run_sparkbench("info --check --device emulated-v100");
  EXPECT_TRUE(contains(result.out, "Fit to measure")) << result.out;
  EXPECT_TRUE(contains(result.out, "of memory free")) << result.out;
}

TEST(MergeCommand, CutShortSaysThatItIsNotComplete) {
  const TemporaryFolder folder;
  const std::string part = path_in(folder, "part"), whole = path_in(folder, "whole");
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + part).exit_code, 0);
  const std::string limited =
      "ulimit -f 16; '" SPARKBENCH_PROGRAM "' merge " + part + " -o " + whole + " 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(("sh -c \"" + limited + "\"").c_str())), 5);
  const RunRecord cut = load_run(whole);
  EXPECT_FALSE(cut.run.complete);
  EXPECT_LT(cut.cases.size(), 12u);
  EXPECT_TRUE(contains(run_sparkbench("report " + whole).out, "Not complete"));
}

TEST(ReportCommand, SalvagesADamagedRunAndSaysWhat) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + run).exit_code, 0);
  const std::string journal = text_of_file(folder.path() / "run/cases.jsonl");
  write_file(folder.path() / "run/cases.jsonl", "garbled\x1b[8m" + journal.substr(9));
  expect_refused(run_sparkbench("report " + run), 2, "line 1: ");
  const ProgramResult report = run_sparkbench("report --salvage " + run);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(contains(report.out, "11 ok")) << report.out;
  EXPECT_TRUE(contains(report.out, "Not complete")) << report.out;
  EXPECT_TRUE(contains(report.err, "left out: '" + run + "/cases.jsonl' line 1: ")) << report.err;
  EXPECT_FALSE(contains(report.err, "\x1b"));
}

TEST(ReportCommand, PrintsNothingThatATerminalObeys) {
  const TemporaryFolder folder;
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.kernel += "\x1b]0;title\x07";
  write_file(folder.path() / "run.json", run_to_json(run));
  const ProgramResult report = run_sparkbench("report " + path_in(folder, "run.json"));
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.out.find_first_of("\x1b\x07"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
