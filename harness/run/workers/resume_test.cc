// Runs that are killed, interrupted or out of disk space, and finished by --resume.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/run/workers/test_process.h"
#include "results/store/journal.h"
#include "results/store/json.h"
#include "results/store/output_file.h"

namespace sparkbench {
namespace {

/// Everything that does not depend on how often a run is killed.
std::string lasting_part(const RunRecord& run) {
  std::string text;
  for (CaseRecord record : run.cases) {
    record.elapsed_s.reset();
    record.provenance->run_id.clear();
    if (record.emulation) record.emulation->host_seconds = 0;
    text += case_to_json(record) + "\n";
  }
  return text;
}

std::string err_of(const TemporaryFolder& folder) { return text_of_file(folder.path() / "err"); }

TEST(Resume, FinishesARunKilledAgainAndAgain) {
  const TemporaryFolder folder;
  const std::string flags = kSmallSweep + "--seqlen 33,65,97,129 --headdim 64,128 ";
  ASSERT_EQ(run_to_end(folder, flags + "--out whole"), 0);
  std::mt19937 random(20260117);
  std::uniform_int_distribution<int> milliseconds(1, 45);  // increasing, so that the run finishes
  std::string arguments = flags + "--out run";
  std::size_t done = 0, kills = 0;
  while (kills < 200) {
    TestProcess process(folder, arguments);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(milliseconds(random) + 2 * static_cast<int>(kills)));
    if (process.wait_after(SIGKILL) != -SIGKILL) break;
    ++kills;
    if (!std::filesystem::exists(folder.path() / "run/run.json")) continue;
    const std::size_t now = stored_run(folder).cases.size();
    EXPECT_GE(now, done);
    done = now;
    arguments = "sweep --resume run";
  }
  EXPECT_GT(kills, 3u);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(lasting_part(stored_run(folder)),
            lasting_part(read_stored_run(folder.path() / "whole")));
}

TEST(Resume, RunsNothingTwice) {
  const TemporaryFolder folder;
  {
    TestProcess process(folder, kSmallSweep + "--out run", "hang:volta-fp16acc/*sq65*");
    const pid_t worker = wait_for_case(folder, "volta-fp16acc/fwd/b1/h1/sq65").pid;
    EXPECT_EQ(process.wait_after(SIGKILL), -SIGKILL);
    EXPECT_TRUE(ends_soon(worker)) << "a worker outlived its parent";
  }
  EXPECT_EQ(stored_run(folder).cases.size(), 4u);
  EXPECT_FALSE(stored_run(folder).run.complete);
  const std::string id = stored_run(folder).run.id;
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(begun_cases(folder).size(), 5u + 2u);
  const RunRecord run = stored_run(folder);
  EXPECT_EQ(run.cases.size(), 6u);
  EXPECT_TRUE(run.run.complete);
  EXPECT_EQ(run.run.resumed_from, id);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(begun_cases(folder).size(), 7u);
}

class Interruption : public testing::TestWithParam<int> {};

TEST_P(Interruption, SavesTheDoneAndSaysHowToFinish) {
  const TemporaryFolder folder;
  TestProcess process(folder, kSmallSweep + "--out run", "hang:volta-fp16acc/*sq65*");
  const pid_t worker = wait_for_case(folder, "volta-fp16acc/fwd/b1/h1/sq65").pid;
  EXPECT_EQ(process.wait_after(GetParam()), 130);
  EXPECT_TRUE(ends_soon(worker));
  EXPECT_TRUE(contains(process.err(),
                       "Stopped after 4 of 6 cases; to finish the rest: sparkbench "
                       "sweep --resume 'run'"))
      << process.err();
  EXPECT_TRUE(contains(process.out(), "4 ok, 0 incorrect, 0 skipped, 0 failed")) << process.out();
  const RunRecord run = run_from_json(text_of_file(folder.path() / "run/run.json"));
  EXPECT_EQ(run.run.exit_code, 130);
  EXPECT_EQ(run.cases.size(), 4u);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(count(stored_run(folder), Status::kOk), 6);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interruption, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(RunFolderInUse, IsRefusedToAnotherRun) {
  const TemporaryFolder folder, other;
  TestProcess process(folder, kSmallSweep + "--out run", "hang:volta-fp16acc/*sq33*");
  wait_for_case(folder, "volta-fp16acc");
  const std::string run = (folder.path() / "run").string();
  EXPECT_EQ(run_to_end(other, "sweep --resume " + run), 5);
  EXPECT_TRUE(contains(err_of(other), "is in use by another run")) << err_of(other);
  EXPECT_EQ(run_to_end(other, kSmallSweep + "--out " + run), 5);
  EXPECT_EQ(process.wait_after(SIGINT), 130);
  EXPECT_EQ(run_to_end(other, "sweep --resume " + run), 0);
}

TEST(FullDisk, EndsInFiveWithAJournalToResume) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "limited.sh")
      << "ulimit -f 16; exec '" SPARKBENCH_FAULTY "' " + kSmallSweep + "--out run > out 2> err";
  const std::string command = "cd '" + folder.path().string() + "' && sh limited.sh";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_TRUE(contains(err_of(folder), "to finish the rest: sparkbench sweep --resume 'run'"))
      << err_of(folder);
  const std::string journal = text_of_file(folder.path() / "run/cases.jsonl");
  EXPECT_TRUE(journal.empty() || journal.ends_with('\n'));
  const std::size_t done = stored_run(folder).cases.size();
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, 6u);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(count(stored_run(folder), Status::kOk), 6);
}

TEST(FullDisk, OfTheStandardOutputEndsInFive) {
  const TemporaryFolder folder;
  for (const std::string output : {"", "-q --json -"}) {
    const std::string command =
        "'" SPARKBENCH_FAULTY "' " + kSmallSweep + output + " > /dev/full 2> /dev/null";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 5) << output;
  }
}

TEST(FullDisk, OfOneOutputLeavesTheOthersWritten) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--json /dev/full --csv cases.csv"), 5);
  EXPECT_GT(std::filesystem::file_size(folder.path() / "cases.csv"), 1000u);
  EXPECT_TRUE(contains(text_of_file(folder.path() / "out"), "6 ok"));
}

TEST(Resume, KeepsWhichRunMeasuredEachCase) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--seqlen 33 --out run"), 0);
  const std::string first = stored_run(folder).run.id;
  ASSERT_EQ(run_to_end(folder, "sweep --resume run --seqlen 33,65"), 0);
  const RunRecord run = stored_run(folder);
  ASSERT_EQ(run.cases.size(), 6u);
  EXPECT_NE(run.run.id, first);
  EXPECT_EQ(run.cases.front().provenance.value().run_id, first);
  EXPECT_EQ(run.cases.back().provenance.value().run_id, run.run.id);
}

TEST(Resume, IsQuietOnlyWhenToldAgain) {
  const TemporaryFolder folder;
  for (const std::string quiet : {"-q", "--quiet"}) {
    ASSERT_EQ(run_to_end(folder, kSmallSweep + quiet + " --out run" + quiet), 0);
    EXPECT_EQ(text_of_file(folder.path() / "out"), "");
    ASSERT_EQ(run_to_end(folder, "sweep --resume run" + quiet), 0);
    EXPECT_TRUE(contains(text_of_file(folder.path() / "out"), "6 ok")) << quiet;
    ASSERT_EQ(run_to_end(folder, "sweep -q --resume run" + quiet), 0);
    EXPECT_EQ(text_of_file(folder.path() / "out"), "") << quiet;
  }
}

TEST(RetryFailed, RunsFailedCasesAgainAndNoOthers) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run", "abort:volta-fp16acc/*"), 4);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 4);
  EXPECT_EQ(begun_cases(folder).size(), 6u);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --retry-failed"), 0);
  EXPECT_EQ(begun_cases(folder).size(), 8u);
  EXPECT_EQ(count(stored_run(folder), Status::kOk), 6);
}

TEST(Resume, RefusesAnotherDeviceBuildOrMethodUnlessTold) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--seqlen 33 --out run"), 0);
  const std::filesystem::path head = folder.path() / "run/run.json";
  RunRecord run = run_from_json(text_of_file(head));
  run.build.git_sha = "another";
  const std::string resume = "sweep --resume run --seqlen 33,65 ";
  EXPECT_EQ(run_to_end(folder, resume + "--device emulated-t4"), 2);
  EXPECT_TRUE(contains(err_of(folder), "another device: its environment.device"));
  EXPECT_TRUE(contains(err_of(folder), "to mix them, --allow device")) << err_of(folder);
  EXPECT_EQ(run_to_end(folder, resume + "--seed 9"), 2);
  EXPECT_TRUE(contains(err_of(folder), "another method: its run.seed is 0, now it is 9"));
  EXPECT_EQ(run_to_end(folder, resume + "--tolerance-ratio 3 --allow device"), 2);
  write_file(head, run_to_json(run));
  EXPECT_EQ(run_to_end(folder, resume), 2);
  EXPECT_TRUE(contains(err_of(folder), "another build: its build.git_sha is another, now it is"));
  EXPECT_EQ(stored_run(folder).cases.size(), 3u);
  EXPECT_EQ(run_to_end(folder, resume + "--tolerance-ratio 3 --allow build,method"), 0);
  EXPECT_EQ(stored_run(folder).cases.size(), 6u);
}

TEST(Resume, MayWaitLongerForACase) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--timeout 0.5 --out run", "hang:*fp16acc/*sq33*"), 4);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --retry-failed --timeout 60"), 0);
}

TEST(Resume, RefusesWhatIsNoRunAndConflictingFlags) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, "sweep --resume nowhere"), 2);
  EXPECT_EQ(run_to_end(folder, "sweep --retry-failed"), 2);
  EXPECT_EQ(run_to_end(folder, "sweep --allow build"), 2);
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--seqlen 33 --out run"), 0);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --out other"), 2);
  EXPECT_EQ(run_to_end(folder, "accuracy --resume run"), 2);
  EXPECT_TRUE(contains(err_of(folder), "was made by `sparkbench sweep`")) << err_of(folder);
}

TEST(Resume, LosesNothingWhenTheJournalIsGone) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  const std::string before = lasting_part(stored_run(folder));
  std::filesystem::remove(folder.path() / "run/cases.jsonl");
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_EQ(begun_cases(folder).size(), 6u);
  EXPECT_EQ(lasting_part(stored_run(folder)), before);
  EXPECT_EQ(read_journal(folder.path() / "run/cases.jsonl").size(), 6u);
}

TEST(Resume, RefusesRowsThatWereMeasuredOtherwise) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--tolerance-ratio 0.01 --out strict"), 1);
  std::filesystem::copy_file(folder.path() / "run/cases.jsonl",
                             folder.path() / "strict/cases.jsonl",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(run_to_end(folder, "sweep --resume strict"), 2);
  EXPECT_TRUE(contains(err_of(folder), "was measured otherwise than its run.json says"))
      << err_of(folder);
  EXPECT_EQ(run_to_end(folder, "sweep --resume strict --allow method"), 0);
}

TEST(Resume, SalvagesADamagedJournalAndRunsTheRest) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  const std::filesystem::path journal = folder.path() / "run/cases.jsonl";
  const std::string before = lasting_part(stored_run(folder)), text = text_of_file(journal);
  write_file(journal, "garbled\n\n" + text.substr(text.find('\n') + 1));
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 2);
  EXPECT_TRUE(contains(err_of(folder), "line 1: ")) << err_of(folder);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --salvage"), 0);
  EXPECT_EQ(begun_cases(folder).size(), 7u);
  EXPECT_EQ(lasting_part(stored_run(folder)), before);
  EXPECT_TRUE(text_of_file(folder.path() / "run/cases.damaged").starts_with("garbled\n\n"));
}

/// The folder may come from somebody else, and its flags name that user's files.
TEST(Resume, WritesElsewhereOnlyWhereItIsTold) {
  const TemporaryFolder folder;
  const std::filesystem::path elsewhere = folder.path() / "else.json";
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run --json else.json --csv=else.csv"), 0);
  std::filesystem::remove(elsewhere);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
  for (const std::string left : {"'else.json' is not written; to write it, give --json again",
                                 "'else.csv' is not written; to write it, give --csv again"}) {
    EXPECT_TRUE(contains(err_of(folder), "--resume: " + left)) << err_of(folder);
  }
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --json else.json"), 0);
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST(Resume, LeavesOutTheJunitFileOfEarlierVersions) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  const std::filesystem::path head = folder.path() / "run/run.json";
  nlohmann::json run = nlohmann::json::parse(text_of_file(head));
  run.erase("run_hash");  // changed on purpose
  run["run"]["argv"].push_back("--junit=old.xml");
  std::ofstream(head) << run;
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0) << err_of(folder);
  EXPECT_TRUE(contains(err_of(folder), "'old.xml' is not written: --junit is no longer a flag"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "old.xml"));
}

TEST(Resume, SaysThatItsFlagsMakeAnotherGrid) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 0);
  EXPECT_FALSE(contains(err_of(folder), "grid")) << err_of(folder);
  EXPECT_EQ(run_to_end(folder, "sweep --resume run --seqlen 17"), 0);
  EXPECT_TRUE(contains(err_of(folder),
                       "6 of the 6 cases in 'run' are not of the grid that these "
                       "flags make, which has 3; they stay"))
      << err_of(folder);
  EXPECT_EQ(stored_run(folder).cases.size(), 9u);
}

TEST(Resume, NamesAFolderThatHoldsNoRun) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "run");
  EXPECT_EQ(run_to_end(folder, "sweep --resume run"), 2);
  EXPECT_TRUE(contains(err_of(folder), "'run': holds no run.json")) << err_of(folder);
}

TEST(FullDisk, OfTheHelpEndsInFive) {
  EXPECT_EQ(WEXITSTATUS(std::system("'" SPARKBENCH_FAULTY "' sweep --help > /dev/full 2>&1")), 5);
}

TEST(RunFolder, RemovedMeanwhileIsNoticedAtTheNextCase) {
  const TemporaryFolder folder;
  TestProcess process(folder, kSmallSweep + "--out run", "pause:*");
  wait_for_case(folder, "volta-fp16acc");
  std::filesystem::remove_all(folder.path() / "run");
  EXPECT_EQ(process.wait(), 5);
  EXPECT_TRUE(contains(process.err(), "was removed while the run went on")) << process.err();
  EXPECT_LT(begun_cases(folder).size(), 6u);
}

}  // namespace
}  // namespace sparkbench
