#include "results/store/run_folder.h"

#include <gtest/gtest.h>

#include <optional>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"
#include "results/store/csv.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string opening_error_of(const fs::path& path) {
  return message_of<OutputError>([&] { const RunFolder folder(path); });
}

TEST(RunFolder, HoldsTheJournalAndWhatDerivesFromIt) {
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "parent" / "run";
  RunFolder folder(path);
  for (const CaseRecord& record : sample_run().cases) folder.append(record);
  folder.write_derived(sample_run(), "# Summary\n");
  EXPECT_EQ(read_journal(path / "cases.jsonl").size(), sample_run().cases.size());
  EXPECT_EQ(text_of_file(path / "run.json"), run_to_json(sample_run()));
  EXPECT_EQ(text_of_file(path / "cases.csv"), cases_to_csv(sample_run()));
  EXPECT_EQ(text_of_file(path / "summary.md"), "# Summary\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 4);
}

TEST(RunFolder, MayExistWhenItIsEmpty) {
  const TemporaryFolder temporary;
  EXPECT_EQ(opening_error_of(temporary.path()), "");
}

TEST(RunFolder, IsRefusedWhenItHoldsSomething) {
  const TemporaryFolder temporary;
  write_file(temporary.path() / "precious", "data");
  EXPECT_EQ(
      opening_error_of(temporary.path()),
      "--out: '" + temporary.path().string() + "' exists and is not empty; give another folder");
  EXPECT_EQ(temporary.entries(), 1);
}

TEST(RunFolder, ForgivesARunKilledBeforeItsFirstCase) {
  const TemporaryFolder temporary;
  write_file(temporary.path() / "cases.jsonl", "");
  write_file(temporary.path() / "run.json.17.tmp", "{");
  EXPECT_EQ(opening_error_of(temporary.path()), "");
  write_file(temporary.path() / "cases.jsonl", "{}\n");
  EXPECT_NE(opening_error_of(temporary.path()), "");
}

TEST(RunFolder, IsOpenOnce) {
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "run";
  std::optional<RunFolder> folder(path);
  folder->write_head(sample_run());
  EXPECT_EQ(opening_error_of(path),
            "'" + path.string() + "' is in use by another run of sparkbench");
  EXPECT_THROW(RunFolder(path, RunFolder::Opening::kResumed), OutputError);
  folder.reset();
  const RunFolder resumed(path, RunFolder::Opening::kResumed);
}

TEST(RunFolder, ContinuesItsJournal) {
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "run";
  {
    RunFolder folder(path);
    folder.write_head(sample_run());
    folder.append(sample_emulated_case());
  }
  RunFolder(path, RunFolder::Opening::kResumed).append(sample_timed_case());
  EXPECT_EQ(read_journal(path / "cases.jsonl").size(), 2u);
}

TEST(RunFolder, IsNotContinuedWhereNothingWasBegun) {
  const TemporaryFolder temporary;
  EXPECT_THROW(RunFolder(temporary.path(), RunFolder::Opening::kResumed), OutputError);
  EXPECT_THROW(RunFolder(temporary.path() / "none", RunFolder::Opening::kResumed), OutputError);
  EXPECT_EQ(temporary.entries(), 0);
}

TEST(RunFolder, IsRefusedWhenAFileOrUnmakeable) {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path() / "file";
  write_file(file, "data");
  EXPECT_EQ(opening_error_of(file),
            "--out: '" + file.string() + "' is not a folder; give another folder");
  EXPECT_EQ(opening_error_of(file / "below"),
            "--out: '" + (file / "below").string() +
                "' cannot be made (Not a directory); give another folder");
  EXPECT_EQ(opening_error_of(""), "--out: '' is no name; give another folder");
}

class StoredFolder : public testing::Test {
 protected:
  StoredFolder() {
    RunFolder folder(path_);
    RunRecord run = sample_run();
    run.cases = {sample_emulated_case()};
    folder.append(run.cases[0]);
    folder.write_head(run);
  }

  TemporaryFolder temporary_;
  fs::path path_ = temporary_.path() / "run", journal_ = path_ / "cases.jsonl";
};

TEST_F(StoredFolder, GivesAnAbsentOrEmptyJournalItsCases) {
  const std::string text = text_of_file(journal_);
  fs::remove(journal_);
  { const RunFolder resumed(path_, RunFolder::Opening::kResumed); }
  EXPECT_EQ(text_of_file(journal_), text);
  write_file(journal_, "");
  { const RunFolder resumed(path_, RunFolder::Opening::kResumed); }
  EXPECT_EQ(text_of_file(journal_), text);
}

TEST_F(StoredFolder, SalvagesWhatIsWholeAndKeepsTheRest) {
  const std::string text = text_of_file(journal_);
  write_file(journal_, "garbled\n" + text + "\n");
  { const RunFolder resumed(path_, RunFolder::Opening::kSalvaged); }
  EXPECT_EQ(text_of_file(journal_), text);
  EXPECT_EQ(text_of_file(path_ / "cases.damaged"), "garbled\n\n");
}

TEST_F(StoredFolder, SalvagesBetweenWholeRowsAndAtTheEnd) {
  const std::string text = text_of_file(journal_);
  write_file(journal_, text + "bad 1\n" + text + "bad 2\nbad 3\n" + text + "torn");
  { const RunFolder resumed(path_, RunFolder::Opening::kSalvaged); }
  EXPECT_EQ(text_of_file(journal_), text + text + text);
  EXPECT_EQ(text_of_file(path_ / "cases.damaged"), "bad 1\nbad 2\nbad 3\n");
}

TEST_F(StoredFolder, IsNotResumedAfterItsHeadChanged) {
  std::string text = text_of_file(path_ / "run.json");
  text[text.find("sparkbench.run") + 3] = 'X';
  write_file(path_ / "run.json", text);
  for (const auto opening : {RunFolder::Opening::kResumed, RunFolder::Opening::kSalvaged}) {
    EXPECT_THROW(RunFolder(path_, opening), OutputError);
  }
  EXPECT_EQ(text_of_file(path_ / "run.json"), text);
}

TEST_F(StoredFolder, IsRidOfWhatAKilledRunLeft) {
  write_file(path_ / "run.json.17.tmp", "{");
  write_file(path_ / "cases.csv.a9Zx0q.tmp", "{");
  write_file(path_ / "mine.tmp", "kept");
  { const RunFolder resumed(path_, RunFolder::Opening::kResumed); }
  EXPECT_FALSE(fs::exists(path_ / "run.json.17.tmp"));
  EXPECT_FALSE(fs::exists(path_ / "cases.csv.a9Zx0q.tmp"));
  EXPECT_TRUE(fs::exists(path_ / "mine.tmp"));
}

TEST_F(StoredFolder, FollowsNoLinkToWrite) {
  const fs::path victim = temporary_.path() / "victim";
  write_file(victim, "precious");
  fs::create_symlink(victim, path_ / "cases.csv");
  RunFolder(path_, RunFolder::Opening::kResumed).write_derived(sample_run(), "# Summary\n");
  EXPECT_EQ(text_of_file(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(path_ / "cases.csv"));
  fs::remove(journal_);
  fs::create_symlink(victim, journal_);
  EXPECT_THROW(RunFolder(path_, RunFolder::Opening::kResumed), OutputError);
  EXPECT_EQ(text_of_file(victim), "precious");
}

TEST(RunFolder, IsRefusedWithALinkForJournal) {
  const TemporaryFolder temporary;
  write_file(temporary.path() / "victim", "");
  fs::create_directory(temporary.path() / "run");
  fs::create_symlink(temporary.path() / "victim", temporary.path() / "run/cases.jsonl");
  EXPECT_NE(opening_error_of(temporary.path() / "run").find("is not empty"), std::string::npos);
}

TEST(RunFolder, IsCheckedWithoutBeingMade) {
  const TemporaryFolder temporary;
  RunFolder::check_new(temporary.path() / "a/b");
  EXPECT_EQ(temporary.entries(), 0);
  write_file(temporary.path() / "file", "data");
  EXPECT_THROW(RunFolder::check_new(temporary.path()), OutputError);
  EXPECT_THROW(RunFolder::check_new(temporary.path() / "file"), OutputError);
  EXPECT_THROW(RunFolder::check_new(temporary.path() / "file/below"), OutputError);
}

}  // namespace
}  // namespace sparkbench
