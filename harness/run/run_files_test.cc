// The commands on stored runs: report, merge, diff; and merging shards.
#include "harness/run/run_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "harness/e2e/test_program.h"
#include "results/record/case_id.h"
#include "results/record/test_run.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/stored_run.h"

namespace sparkbench {
namespace {

const std::string kSweep =
    "sweep -q --device emulated-v100 --kernel unfused-fp16,volta-fp32acc --headdim 64 "
    "--seqlen 9,17,33 --causal both --dropout 0.1 --heads 1 --batch 1 ";

/// Everything except times and the run's metadata.
std::string lasting_part(RunRecord run) {
  run.run = RunInfo{.resolved = run.run.resolved, .seed = run.run.seed};
  for (CaseRecord& record : run.cases) {
    record.elapsed_s.reset();
    record.provenance.reset();
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
  expect_refused(run_sparkbench("merge " + parts), 2, "merge: give an output");
  expect_refused(run_sparkbench("merge " + parts + " " + path_in(folder, "part1.json") + " -o " +
                                path_in(folder, "twice")),
                 2, "to keep the last one, --allow duplicates");
  EXPECT_EQ(run_sparkbench("merge --allow duplicates " + parts + " " +
                           path_in(folder, "part1.json") + " -o " + path_in(folder, "twice"))
                .exit_code,
            0);
}

TEST(MergeCommand, NamesTheShardThatIsMissing) {
  const TemporaryFolder folder;
  const std::string part = path_in(folder, "part1"), whole = path_in(folder, "whole");
  ASSERT_EQ(run_sparkbench(kSweep + "--shard 1/3 --out " + part).exit_code, 0);
  const ProgramResult merged = run_sparkbench("merge " + part + " -o " + whole);
  EXPECT_EQ(merged.exit_code, 4);
  EXPECT_TRUE(contains(merged.err,
                       "shard 2/3 is missing: run it like the others, with --shard "
                       "2/3\nshard 3/3 is missing"))
      << merged.err;
  EXPECT_FALSE(load_run(whole).run.complete);
  EXPECT_EQ(load_run(whole).run.exit_code, 4);
  EXPECT_EQ(run_sparkbench("diff " + part + " " + whole).exit_code, 1);
}

TEST(MergeCommand, SaysHowToFinishAStoppedRun) {
  const TemporaryFolder folder;
  const std::string part = path_in(folder, "part");
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + part).exit_code, 0);
  RunRecord stopped = load_run(part);
  stopped.run.complete = false;
  write_file(folder.path() / "part/run.json", run_to_json(stopped));
  const ProgramResult merged =
      run_sparkbench("merge " + part + " -o " + path_in(folder, "whole.json"));
  EXPECT_EQ(merged.exit_code, 4);
  EXPECT_TRUE(contains(merged.err, "is not complete: sparkbench sweep --resume '" + part + "'\n"))
      << merged.err;
}

TEST(ReportCommand, PrintsAStoredRunAndWritesItsFiles) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kSweep + "--out " + run).exit_code, 0);
  const ProgramResult report = run_sparkbench("report " + run);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(contains(report.out, "12 ok, 0 incorrect")) << report.out;
  const ProgramResult csv = run_sparkbench("report --csv - --csv-all " + run);
  EXPECT_EQ(csv.out, text_of_file(folder.path() / "run/cases.csv"));
  expect_refused(run_sparkbench("report " + path_in(folder, "none")), 2, "cannot be read");
}

TEST(MergeCommand, KeepsWhichRunMeasuredEachCase) {
  const TemporaryFolder folder;
  std::vector<std::string> ids;
  for (const std::string shard : {"1/2", "2/2"}) {
    const std::string path = path_in(folder, "part" + shard.substr(0, 1) + ".json");
    ASSERT_EQ(run_sparkbench(kSweep + "-q --shard " + shard + " --json " + path).exit_code, 0);
    ids.push_back(read_stored_run(path).run.id);
  }
  const std::string whole = path_in(folder, "whole.json");
  ASSERT_EQ(run_sparkbench("merge " + path_in(folder, "part1.json") + " " +
                           path_in(folder, "part2.json") + " -o " + whole)
                .exit_code,
            0);
  std::vector<std::string> found;
  for (const CaseRecord& record : read_stored_run(whole).cases) {
    const std::string& id = record.provenance.value().run_id;
    if (std::find(found.begin(), found.end(), id) == found.end()) found.push_back(id);
  }
  EXPECT_EQ(found, ids);
}

/// A kernel that is twice as fast as one reference, and four times as fast as the other.
RunRecord run_of_three_kernels() {
  RunRecord run = sample_run();
  run.cases.assign(3, sample_timed_case());
  const std::vector<std::string> names = {"cublas-fp16", "torch-unfused", "volta-fp32acc"};
  const std::vector<double> medians = {4.0, 2.0, 1.0};
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    CaseRecord& record = run.cases[i];
    record.kernel = names[i];
    record.id = make_case_id(record.kernel, record.problem);
    record.role = i < 2 ? Role::kReference : Role::kFused;
    record.time_ms->median = medians[i];
    record.reason.reset();
    record.speedup.reset();
    record.position = i;
  }
  return run;
}

TEST(ReportCommand, ComparesWithTheReferenceThatIsAsked) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.json", run_to_json(run_of_three_kernels()));
  const std::string run = path_in(folder, "a.json");
  const ProgramResult report = run_sparkbench("report --reference torch-unfused " + run);
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_TRUE(contains(report.out, "\nspeed-up is over torch-unfused\n")) << report.out;
  EXPECT_TRUE(contains(report.out, "x as fast as torch-unfused (")) << report.out;
  EXPECT_TRUE(contains(report.out, "\ncublas-fp16 takes ")) << report.out;
  const ProgramResult json = run_sparkbench("report --reference cublas-fp16 --json - " + run);
  const RunRecord compared = run_from_json(json.out);
  EXPECT_EQ(compared.cases[2].speedup.value().over, "cublas-fp16");
  EXPECT_EQ(compared.cases[2].speedup->ratio, 4.0);
  EXPECT_EQ(compared.cases[1].speedup.value().ratio, 2.0);
  EXPECT_FALSE(compared.cases[0].speedup.has_value());
}

/// Stored runs may have names of removed kernels.
TEST(StoredRuns, OfOldNamesAreReportedComparedAndMerged) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"unfused-fp16", "volta-mixedacc", "volta-fp16acc-o16"};
  std::string files;
  for (const int part : {0, 1}) {
    RunRecord run = run_of_three_kernels();
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
      CaseRecord& record = run.cases[i];
      record.kernel = names[i];
      record.problem.seqlen_q += part;
      record.id = make_case_id(record.kernel, record.problem);
    }
    const std::string name = part == 0 ? "a.json" : "b.json";
    write_file(folder.path() / name, run_to_json(run));
    files += path_in(folder, name) + " ";
  }
  const ProgramResult merged = run_sparkbench("merge " + files + "-o " + path_in(folder, "c.json"));
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  const std::string run = path_in(folder, "c.json");
  const ProgramResult report = run_sparkbench("report " + run);
  EXPECT_EQ(report.exit_code, 0) << report.err;
  for (const std::string& name : names) {
    EXPECT_TRUE(contains(report.out, name)) << name << " is not in\n" << report.out;
  }
  const ProgramResult diff = run_sparkbench("diff " + run + " " + run);
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
}

TEST(ReportCommand, RefusesAReferenceThatItCannotUse) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.json", run_to_json(run_of_three_kernels()));
  const std::string run = path_in(folder, "a.json");
  expect_refused(run_sparkbench("report --reference cudnn " + run), 2,
                 "--reference: no case of 'cudnn' in the run; it has cublas-fp16, torch-unfused, "
                 "volta-fp32acc");
  write_file(folder.path() / "untimed.json", run_to_json(sample_run()));
  expect_refused(
      run_sparkbench("report --reference unfused-fp16 " + path_in(folder, "untimed.json")), 2,
      "--reference: 'unfused-fp16' can be compared with none of the run's 9 cases: nothing else "
      "was timed");
}

TEST(ReportCommand, ComparesPublishedKernelsWithPyTorchs) {
  const TemporaryFolder folder;
  const std::string published = std::string(SPARKBENCH_PUBLISHED) + "/h200/";
  const std::string both = path_in(folder, "both.json");
  ASSERT_EQ(run_sparkbench("merge --allow build,device,method " + published + "paper-forward " +
                           published + "torch-forward.json -o " + both)
                .exit_code,
            0);
  const ProgramResult report = run_sparkbench("report --reference torch-efficient " + both);
  EXPECT_EQ(report.exit_code, 0) << report.err;
  for (const char* kernel :
       {"cudnn", "torch-flash", "cublas-fp16", "x as fast as torch-efficient ("}) {
    EXPECT_TRUE(contains(report.out, kernel)) << kernel << report.out;
  }
}

/// A complete run of one timed case; all samples take `ms` at 1500 MHz.
RunRecord timed_run(double ms) {
  RunRecord run = sample_run();
  run.run.complete = true;
  run.cases = {sample_timed_case()};
  CaseRecord& record = run.cases[0];
  record.status = Status::kOk;
  record.time_ms->median = ms;
  record.time_ms->samples = {ms, ms, ms};
  record.clock_mhz->samples = {1500, 1500, 1500};
  return run;
}

/// `sparkbench diff` of the two, with more arguments.
ProgramResult diff_stored(const RunRecord& first, const RunRecord& second,
                          const std::string& arguments = "") {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.json", run_to_json(first));
  write_file(folder.path() / "b.json", run_to_json(second));
  return run_sparkbench("diff " + path_in(folder, "a.json") + " " + path_in(folder, "b.json") +
                        " " + arguments);
}

TEST(DiffCommand, EndsInOneForWhatFailsIt) {
  const RunRecord first = timed_run(1), second = timed_run(3);
  const ProgramResult slower = diff_stored(first, second);
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_TRUE(contains(slower.out, "1 slow; the second run takes 3.000 times as long"))
      << slower.out;
  EXPECT_EQ(diff_stored(second, first).exit_code, 0);
  EXPECT_EQ(diff_stored(second, first, "--fail-on fast").exit_code, 1);
  EXPECT_EQ(diff_stored(first, second, "--fail-on nothing").exit_code, 0);
  EXPECT_EQ(diff_stored(first, first).exit_code, 0);
  EXPECT_EQ(diff_stored(first, second, "--fail-on bad").exit_code, 2);
}

TEST(DiffCommand, FailsOnLostCasesByDefault) {
  RunRecord second = timed_run(1);
  second.cases[0].status = Status::kFailed;
  EXPECT_EQ(diff_stored(timed_run(1), second).exit_code, 1);
  second.cases.clear();
  const ProgramResult missing = diff_stored(timed_run(1), second);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.out, "missing (there is no such case)")) << missing.out;
  second = timed_run(1);
  second.run.complete = false;
  EXPECT_EQ(diff_stored(timed_run(1), second).exit_code, 1);
  EXPECT_EQ(diff_stored(timed_run(1), second, "--fail-on slow").exit_code, 0);
}

TEST(DiffCommand, RefusesWhatIsUnlikeUnlessAllowed) {
  RunRecord other = timed_run(1);
  other.environment.device.name = "H100";
  expect_refused(diff_stored(timed_run(1), other), 2, "to compare them anyway, --allow device");
  EXPECT_EQ(diff_stored(timed_run(1), other, "--allow device").exit_code, 0);
  other = timed_run(1);
  other.method.tolerance_ratio = 3;
  expect_refused(diff_stored(timed_run(1), other), 2, "--allow method");
  other = timed_run(1);
  other.build.git_sha = "abc";
  EXPECT_EQ(diff_stored(timed_run(1), other).exit_code, 0);
  other.cases.clear();
  expect_refused(diff_stored(other, other), 2, "have no cases; nothing was compared");
}

TEST(DiffCommand, WritesJsonBesideItsTable) {
  const ProgramResult result = diff_stored(timed_run(1), timed_run(3), "--json -");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out.rfind("{\n  \"schema\"", 0), 0u) << result.out;
  EXPECT_TRUE(contains(result.out, "\"exit_code\": 1")) << result.out;
  EXPECT_TRUE(contains(result.err, "1 slow;")) << result.err;
  EXPECT_EQ(diff_stored(timed_run(1), timed_run(3), "--json /nowhere/diff.json").exit_code, 5);
}

TEST(DiffCommand, WritesOverNoFileOfARun) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.json", run_to_json(timed_run(1)));
  const std::string run = path_in(folder, "a.json");
  expect_refused(run_sparkbench("diff " + run + " " + run + " --json " + run), 2,
                 "--json: '" + run + "' is a file of the run");
}

TEST(DiffCommand, TakesTimeAloneWhereNoClockWasRead) {
  RunRecord first = timed_run(1), second = timed_run(3);
  first.cases[0].clock_mhz.reset();
  second.cases[0].clock_mhz.reset();
  EXPECT_TRUE(contains(diff_stored(first, second).out, "1 ambiguous"));
  EXPECT_EQ(diff_stored(first, second, "--time-only").exit_code, 1);
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
