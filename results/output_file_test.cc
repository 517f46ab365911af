#include "results/output_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "results/output_error.h"
#include "results/temporary_folder.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string writable_error(const fs::path& path) {
  try {
    check_writable("--json", path);
  } catch (const OutputError& error) {
    return error.what();
  }
  return "no error";
}

std::string expected_error(const fs::path& path, const std::string& wrong) {
  return "--json: '" + path.string() + "' " + wrong +
         "; give a file in a folder that exists and can be written, or - for the standard output";
}

TEST(WriteFile, ReplacesTheFileAndLeavesNoOther) {
  const TemporaryFolder folder;
  write_file(folder.path() / "run.json", "old");
  write_file(folder.path() / "run.json", "new\n");
  EXPECT_EQ(text_of_file(folder.path() / "run.json"), "new\n");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteFile, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "taken" / "full");
  EXPECT_THROW(write_file(folder.path() / "taken", "text"), OutputError);
  EXPECT_THROW(write_file(folder.path() / "no" / "such", "text"), OutputError);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteOutput, TakesADashForTheStandardOutput) {
  std::ostringstream standard_output;
  write_output("-", "text", standard_output);
  EXPECT_EQ(standard_output.str(), "text");
  standard_output.setstate(std::ios::badbit);
  EXPECT_THROW(write_output("-", "text", standard_output), OutputError);
}

TEST(CheckWritable, AcceptsAFileThatCanBeWrittenAndLeavesNoTrace) {
  const TemporaryFolder folder;
  EXPECT_EQ(writable_error(folder.path() / "new.json"), "no error");
  EXPECT_EQ(folder.entries(), 0);
  write_file(folder.path() / "old.json", "old");
  EXPECT_EQ(writable_error(folder.path() / "old.json"), "no error");
  EXPECT_EQ(text_of_file(folder.path() / "old.json"), "old");
  EXPECT_EQ(writable_error("-"), "no error");
}

TEST(CheckWritable, NamesTheFlagThePathAndTheReason) {
  const TemporaryFolder folder;
  const fs::path missing = folder.path() / "no" / "such.json";
  EXPECT_EQ(writable_error(missing), expected_error(missing, "is in a folder that does not exist"));
  EXPECT_EQ(writable_error(folder.path()), expected_error(folder.path(), "is a folder"));
  EXPECT_EQ(writable_error(""), expected_error("", "is empty"));
}

TEST(CheckWritable, FindsAFolderThatCannotBeWritten) {
  const fs::path path = "/proc/sparkbench.json";  // refused to every user, root included
  if (!fs::is_directory("/proc")) GTEST_SKIP() << "no /proc here";
  EXPECT_EQ(writable_error(path),
            expected_error(path, "cannot be written (No such file or directory)"));
}

}  // namespace
}  // namespace sparkbench
