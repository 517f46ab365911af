#include "results/run_folder.h"

#include <gtest/gtest.h>

#include "results/csv.h"
#include "results/json.h"
#include "results/output_error.h"
#include "results/output_file.h"
#include "results/sample_run.h"
#include "results/temporary_folder.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string error_of(const fs::path& path) {
  try {
    const RunFolder folder(path);
  } catch (const OutputError& error) {
    return error.what();
  }
  return "no error";
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
  EXPECT_EQ(error_of(temporary.path()), "no error");
}

TEST(RunFolder, IsRefusedWhenItHoldsSomething) {
  const TemporaryFolder temporary;
  write_file(temporary.path() / "precious", "data");
  EXPECT_EQ(error_of(temporary.path()), "--out: '" + temporary.path().string() +
                                            "' exists and is not empty; give another folder");
  EXPECT_EQ(temporary.entries(), 1);
}

TEST(RunFolder, IsRefusedWhenItIsAFileOrCannotBeMade) {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path() / "file";
  write_file(file, "data");
  EXPECT_EQ(error_of(file), "--out: '" + file.string() + "' is not a folder; give another folder");
  EXPECT_EQ(error_of(file / "below"),
            "--out: '" + (file / "below").string() +
                "' cannot be made (Not a directory); give another folder");
  EXPECT_EQ(error_of(""), "--out: '' is no name; give another folder");
}

}  // namespace
}  // namespace sparkbench
