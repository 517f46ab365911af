#include "results/store/stored_run.h"

#include <gtest/gtest.h>

#include <stdexcept>

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

std::string error_of(const std::filesystem::path& path) {
  try {
    read_stored_run(path);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
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
    EXPECT_EQ(error_of(folder.path()).find(folder.path().string()), 1u) << wrong;
  }
  EXPECT_NE(error_of(folder.path() / "none"), "no error");
}

}  // namespace
}  // namespace sparkbench
