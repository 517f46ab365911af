#include "results/store/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <stdexcept>

#include "results/record/test_run.h"
#include "results/store/json.h"
#include "results/store/output_error.h"
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
    EXPECT_EQ(std::string(error.what()), "'" + path.string() + "' line 2: id: is missing");
  }
}

TEST(Journal, IsEmptyBeforeTheFirstCase) {
  const TemporaryFolder folder;
  const Journal journal(folder.path() / "cases.jsonl");
  EXPECT_TRUE(read_journal(folder.path() / "cases.jsonl").empty());
}

/// Files of this process end after so many bytes, as on a full disk.
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
  EXPECT_THROW(read_journal("/no/such/folder/cases.jsonl"), OutputError);
}

}  // namespace
}  // namespace sparkbench
