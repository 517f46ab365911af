#include "results/store/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "results/record/test_run.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

void append_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

TEST(Journal, KeepsEveryCaseInOrder) {
  const TemporaryFolder folder;
  const std::vector<CaseRecord> cases = sample_run().cases;
  Journal journal(folder.path() / "cases.jsonl");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    journal.append(cases[i]);
    const std::vector<CaseRecord> read = read_journal(folder.path() / "cases.jsonl");
    ASSERT_EQ(read.size(), i + 1);
    EXPECT_EQ(case_to_json(read[i]), case_to_json(cases[i]));
  }
}

TEST(Journal, LeavesOutATornLastLine) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  Journal(path).append(sample_emulated_case());
  const std::string line = case_to_json(sample_timed_case());
  append_text(path, line.substr(0, line.size() / 2));
  EXPECT_EQ(read_journal(path).size(), 1u);
}

TEST(Journal, ContinuesAfterATornLastLine) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  Journal(path).append(sample_emulated_case());
  append_text(path, "{\"id\": \"torn");
  Journal(path).append(sample_timed_case());
  const std::vector<CaseRecord> cases = read_journal(path);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(case_to_json(cases[1]), case_to_json(sample_timed_case()));
}

TEST(Journal, NamesADamagedLineInTheMiddle) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  Journal(path).append(sample_emulated_case());
  append_text(path, "{}\n");
  Journal(path).append(sample_emulated_case());
  try {
    read_journal(path);
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "'" + path.string() + "' line 2: row_hash is missing, which the rows before have");
  }
}

TEST(Journal, IsEmptyBeforeTheFirstCase) {
  const TemporaryFolder folder;
  const Journal journal(folder.path() / "cases.jsonl");
  EXPECT_TRUE(read_journal(folder.path() / "cases.jsonl").empty());
}

/// Limits the size of this process's files, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_limit_;
  void (*old_handler_)(int);
};

TEST(Journal, EndsWithAWholeLineOnFullDisks) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  Journal journal(path);
  journal.append(sample_emulated_case());
  const auto bytes = std::filesystem::file_size(path);
  {
    const FileSizeLimit full(bytes + bytes / 2);
    EXPECT_THROW(journal.append(sample_timed_case()), OutputError);
  }
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
  journal.append(sample_timed_case());
  EXPECT_EQ(read_journal(path).size(), 2u);
}

TEST(Journal, SaysWhenItCannotBeOpened) {
  EXPECT_THROW(Journal("/no/such/folder/cases.jsonl"), OutputError);
  EXPECT_THROW(read_journal("/no/such/folder/cases.jsonl"), std::invalid_argument);
}

TEST(JournalRow, IsNotBelievedOnceAnyByteChanged) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  const std::string first = journal_row(sample_emulated_case()) + "\n";
  const std::string second = journal_row(sample_timed_case());
  for (std::size_t i = 0; i < second.size(); ++i) {
    std::string changed = second;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    std::ofstream(path) << first << changed << "\n" << first;
    const JournalRows rows = scan_journal(path);
    ASSERT_EQ(rows.damaged.size(), 1u) << changed[i] << " at " << i;
    EXPECT_EQ(rows.damaged[0].line, 2u);
    EXPECT_EQ(rows.damaged[0].begin, first.size());
    EXPECT_EQ(rows.damaged[0].bytes, changed.size());
    EXPECT_EQ(rows.cases.size(), 2u);
  }
}

TEST(JournalRow, IsNotBelievedWrittenAnewByOthers) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  std::string row = journal_row(sample_emulated_case());
  row.insert(row.find(",\"row_hash\"") + 1, " ");
  write_file(path, row + "\n");
  ASSERT_EQ(scan_journal(path).damaged.size(), 1u);
  EXPECT_NE(scan_journal(path).damaged[0].why.find("row_hash does not fit"), std::string::npos);
}

TEST(JournalRow, NeedsNoHashWhereNoneHasIt) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  append_text(path, case_to_json(sample_emulated_case()) + "\n");
  Journal(path).append(sample_timed_case());
  EXPECT_EQ(read_journal(path).size(), 2u);
}

TEST(Journal, NamesABlankLine) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  append_text(path, "\n");
  Journal(path).append(sample_timed_case());
  const JournalRows rows = scan_journal(path);
  ASSERT_EQ(rows.damaged.size(), 1u);
  EXPECT_EQ(rows.damaged[0].why, "is blank");
  EXPECT_EQ(rows.cases.size(), 1u);
}

TEST(Journal, KeepsAWholeLastRowWithoutItsNewline) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "cases.jsonl";
  append_text(path, journal_row(sample_emulated_case()));
  EXPECT_EQ(read_journal(path).size(), 1u);
  Journal(path).append(sample_timed_case());
  EXPECT_EQ(read_journal(path).size(), 2u);
}

TEST(Journal, IsNeitherALinkNorAPipe) {
  const TemporaryFolder folder;
  append_text(folder.path() / "victim", "no newline");
  std::filesystem::create_symlink("victim", folder.path() / "link");
  EXPECT_THROW(Journal(folder.path() / "link"), OutputError);
  EXPECT_EQ(text_of_file(folder.path() / "victim"), "no newline");
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(Journal(folder.path() / "pipe"), OutputError);
  EXPECT_THROW(read_journal(folder.path() / "pipe"), std::invalid_argument);
}

TEST(Journal, SaysThatItWasRemoved) {
  const TemporaryFolder folder;
  Journal journal(folder.path() / "cases.jsonl");
  journal.append(sample_emulated_case());
  std::filesystem::remove(folder.path() / "cases.jsonl");
  EXPECT_THROW(journal.append(sample_timed_case()), OutputError);
}

}  // namespace
}  // namespace sparkbench
