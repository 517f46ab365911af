#include "results/store/stored_run.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/run_folder.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

CaseRecord case_at(std::uint64_t position, Status status = Status::kOk) {
  CaseRecord record = sample_emulated_case();
  record.id = "case " + std::to_string(position);
  record.position = position;
  record.status = status;
  return record;
}

std::string reading_error_of(const std::filesystem::path& path) {
  return message_of<std::invalid_argument>([&] { read_stored_run(path); });
}

TEST(StoredRun, IsReadFromAFileThatJsonWrote) {
  const TemporaryFolder folder;
  const std::string text = run_to_json(sample_run());
  write_file(folder.path() / "run.json", text);
  EXPECT_EQ(run_to_json(read_stored_run(folder.path() / "run.json")), text);
}

TEST(StoredRun, TakesAFoldersJournalForTheTruth) {
  const TemporaryFolder temporary;
  RunFolder folder(temporary.path() / "run");
  RunRecord head = sample_run();
  head.cases.clear();
  folder.write_head(head);
  folder.append(case_at(2));
  folder.append(case_at(0, Status::kFailed));
  folder.append(case_at(1));
  folder.append(case_at(0));
  const RunRecord run = read_stored_run(folder.path());
  ASSERT_EQ(run.cases.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run.cases[i].id, "case " + std::to_string(i));
  EXPECT_EQ(run.cases[0].status, Status::kOk);
  EXPECT_EQ(run.run.id, head.run.id);
}

TEST(StoredRun, TellsCasesOfAnotherSeedApart) {
  CaseRecord other = sample_emulated_case();
  other.problem.seed ^= 1;
  EXPECT_EQ(keep_latest({sample_emulated_case(), other, sample_emulated_case()}).size(), 2u);
}

TEST(StoredRun, IsRefusedWhenItIsMissingOrDamaged) {
  const TemporaryFolder folder;
  for (const char* const wrong : {"", "{", "[]", "{\"schema\": 1}"}) {
    write_file(folder.path() / "run.json", wrong);
    EXPECT_EQ(reading_error_of(folder.path()).find(folder.path().string()), 1u) << wrong;
  }
  EXPECT_NE(reading_error_of(folder.path() / "none"), "");
}

class DamagedFolder : public testing::Test {
 protected:
  DamagedFolder() {
    RunFolder folder(path_);
    RunRecord run = sample_run();
    run.cases = {case_at(0), case_at(1), case_at(2)};
    for (const CaseRecord& record : run.cases) folder.append(record);
    folder.write_head(run);
  }

  /// Changes "case 1".
  void damage_line_2() {
    std::string text = text_of_file(journal_);
    text[text.find("case 1")] = 'b';
    write_file(journal_, text);
  }

  TemporaryFolder temporary_;
  std::filesystem::path path_ = temporary_.path() / "run", journal_ = path_ / "cases.jsonl";
};

TEST_F(DamagedFolder, IsRefusedWithTheLineAndARemedy) {
  damage_line_2();
  const std::string error = reading_error_of(path_);
  EXPECT_NE(error.find(journal_.string()), std::string::npos) << error;
  EXPECT_NE(error.find("line 2: row_hash does not fit"), std::string::npos) << error;
  EXPECT_NE(error.find("report --salvage"), std::string::npos) << error;
}

TEST_F(DamagedFolder, IsSalvagedWithoutTheLine) {
  damage_line_2();
  const SalvagedRun salvaged = salvage_stored_run(path_);
  ASSERT_EQ(salvaged.run.cases.size(), 2u);
  EXPECT_EQ(salvaged.run.cases[1].id, "case 2");
  EXPECT_EQ(salvaged.damage.size(), 1u);
  EXPECT_FALSE(salvaged.run.run.complete);
}

TEST_F(DamagedFolder, LosesNoCaseOfRunJsonSilently) {
  const std::string text = text_of_file(journal_);
  write_file(journal_, text.substr(0, text.find('\n') + 1));
  EXPECT_NE(reading_error_of(path_).find("lacks 2 of the cases of run.json"), std::string::npos);
  EXPECT_EQ(salvage_stored_run(path_).run.cases.size(), 1u);
}

/// Changes the last case.
void change_head(const std::filesystem::path& head) {
  std::string text = text_of_file(head);
  text[text.rfind("case 2")] = 'b';
  write_file(head, text);
}

TEST_F(DamagedFolder, NamesTheHeadThatWasChanged) {
  const std::filesystem::path head = path_ / "run.json";
  change_head(head);
  EXPECT_EQ(reading_error_of(path_),
            "'" + head.string() +
                "': run_hash does not fit: the file was changed since it was written; `sparkbench "
                "report --salvage` shows the cases of '" +
                journal_.string() +
                "', which have hashes of their own, and a new sweep measures them again; if you "
                "changed it on purpose, delete its field run_hash");
  EXPECT_THROW(read_run_head(path_), std::invalid_argument);
  const std::string of_file = reading_error_of(head);
  EXPECT_NE(of_file.find("run_hash does not fit"), std::string::npos) << of_file;
  EXPECT_NE(of_file.find("report FOLDER --json FILE"), std::string::npos) << of_file;
}

TEST_F(DamagedFolder, IsSalvagedWithoutTheHeadsCases) {
  change_head(path_ / "run.json");
  SalvagedRun salvaged = salvage_stored_run(path_);
  EXPECT_EQ(salvaged.run.cases.size(), 3u);
  EXPECT_FALSE(salvaged.run.run.complete);
  ASSERT_EQ(salvaged.damage.size(), 1u);
  EXPECT_NE(salvaged.damage[0].find("its own cases are not"), std::string::npos);
  std::filesystem::remove(journal_);
  EXPECT_TRUE(salvage_stored_run(path_).run.cases.empty());
}

TEST_F(DamagedFolder, WithoutRowsHasThoseOfRunJson) {
  write_file(journal_, "");
  EXPECT_EQ(read_stored_run(path_).cases.size(), 3u);
  std::filesystem::remove(journal_);
  EXPECT_EQ(read_stored_run(path_).cases.size(), 3u);
}

TEST(StoredRun, SaysThatAFolderHoldsNone) {
  const TemporaryFolder folder;
  EXPECT_NE(reading_error_of(folder.path()).find("holds no run.json"), std::string::npos);
}

TEST(StoredRun, IsNotOverwrittenByOtherOutputs) {
  const TemporaryFolder folder;
  const auto run = folder.path() / "run";
  for (const char* const file : {"run.json", "cases.jsonl", "cases.csv", "summary.md"}) {
    EXPECT_TRUE(would_damage_run(run / file, run, "")) << file;
    EXPECT_TRUE(would_damage_run(run / "." / file, run, "other")) << file;
  }
  EXPECT_FALSE(would_damage_run(run / "cases.csv", run, "cases.csv"));
  EXPECT_FALSE(would_damage_run(run / "mine.csv", run, "cases.csv"));
  write_file(folder.path() / "run.json", "{}");
  EXPECT_TRUE(
      would_damage_run(folder.path() / "run.json", folder.path() / "run.json", "cases.csv"));
  EXPECT_FALSE(would_damage_run(folder.path() / "x.csv", folder.path() / "run.json", "cases.csv"));
}

}  // namespace
}  // namespace sparkbench
