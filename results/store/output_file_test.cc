#include "results/store/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <sstream>

#include "kernels/testing/messages.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string writable_error(const fs::path& path) {
  return message_of<OutputError>([&] { check_writable("--json", path); });
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

TEST(WriteFile, WritesThroughALinkAndKeepsIt) {
  const TemporaryFolder folder;
  write_file(folder.path() / "run.json", "old");
  fs::create_symlink("run.json", folder.path() / "latest.json");
  write_file(folder.path() / "latest.json", "new");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "latest.json"));
  EXPECT_EQ(text_of_file(folder.path() / "run.json"), "new");
  EXPECT_EQ(folder.entries(), 2);
}

TEST(WriteFile, LeavesADeviceWhatItIs) {
  const TemporaryFolder folder;
  const fs::path null = folder.path() / "null";
  fs::create_symlink("/dev/null", null);
  EXPECT_EQ(writable_error(null), "");
  write_file(null, "text");
  EXPECT_EQ(fs::read_symlink(null), "/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteFile, WritesIntoAPipe) {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(writable_error(pipe), "");
  auto reader = std::async(std::launch::async, [&] { return text_of_file(pipe); });
  write_file(pipe, "text");
  EXPECT_EQ(reader.get(), "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WriteOutput, TakesADashForTheStandardOutput) {
  std::ostringstream standard_output;
  write_output("-", "text", standard_output);
  EXPECT_EQ(standard_output.str(), "text");
  standard_output.setstate(std::ios::badbit);
  EXPECT_THROW(write_output("-", "text", standard_output), OutputError);
}

TEST(StandardOutput, IsADashOrItsTargetsName) {
  EXPECT_TRUE(is_standard_output("-"));
  EXPECT_EQ(is_standard_output("/dev/stdout"), !fs::is_character_file("/dev/stdout"));
  EXPECT_FALSE(is_standard_output("/dev/null"));
  EXPECT_FALSE(is_standard_output("no such file"));
}

TEST(SameOutput, SeesThroughSpellingsAndLinks) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.json";
  EXPECT_TRUE(is_same_output(file, folder.path() / "." / "a.json"));
  EXPECT_TRUE(is_same_output("a.json", "./a.json"));
  EXPECT_FALSE(is_same_output(file, folder.path() / "a.csv"));
  write_file(file, "old");
  fs::create_symlink("a.json", folder.path() / "b.json");
  EXPECT_TRUE(is_same_output(file, folder.path() / "b.json"));
}

TEST(SameOutput, IsStandardOutputTwiceAndNeverADevice) {
  EXPECT_TRUE(is_same_output("-", "-"));
  EXPECT_FALSE(is_same_output("-", "a.json"));
  EXPECT_FALSE(is_same_output("/dev/null", "/dev/null"));
}

TEST(CheckWritable, AcceptsAWritableFileAndLeavesNoTrace) {
  const TemporaryFolder folder;
  EXPECT_EQ(writable_error(folder.path() / "new.json"), "");
  EXPECT_EQ(folder.entries(), 0);
  write_file(folder.path() / "old.json", "old");
  EXPECT_EQ(writable_error(folder.path() / "old.json"), "");
  EXPECT_EQ(text_of_file(folder.path() / "old.json"), "old");
  EXPECT_EQ(writable_error("-"), "");
}

TEST(CheckWritable, NamesTheFlagThePathAndTheReason) {
  const TemporaryFolder folder;
  const fs::path missing = folder.path() / "no" / "such.json";
  EXPECT_EQ(writable_error(missing), expected_error(missing, "is in a folder that does not exist"));
  EXPECT_EQ(writable_error(folder.path()), expected_error(folder.path(), "is a folder"));
  EXPECT_EQ(writable_error(""), expected_error("", "is empty"));
}

TEST(CheckWritable, FindsAFolderThatCannotBeWritten) {
  const fs::path path = "/proc/sparkbench.json";  // no user, not even root, may write here
  if (!fs::is_directory("/proc")) GTEST_SKIP() << "no /proc here";
  EXPECT_EQ(writable_error(path),
            expected_error(path, "cannot be written (No such file or directory)"));
}

mode_t mode_of_file(const fs::path& path) {
  struct stat status = {};
  stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

TEST(WriteFile, KeepsThePermissionsOfAnOlderFile) {
  const TemporaryFolder folder;
  write_file(folder.path() / "run.json", "old");
  chmod((folder.path() / "run.json").c_str(), 0600);
  write_file(folder.path() / "run.json", "new");
  EXPECT_EQ(mode_of_file(folder.path() / "run.json"), 0600u);
}

TEST(WriteFile, FollowsNoLinkPlantedBesideIt) {
  const TemporaryFolder folder;
  write_file(folder.path() / "victim", "precious");
  for (int pid = getpid(); pid < getpid() + 3; ++pid) {
    fs::create_symlink("victim", folder.path() / ("run.json." + std::to_string(pid) + ".tmp"));
  }
  write_file(folder.path() / "run.json", "new");
  EXPECT_EQ(text_of_file(folder.path() / "victim"), "precious");
}

TEST(ReplaceFile, TakesThePlaceOfALink) {
  const TemporaryFolder folder;
  write_file(folder.path() / "victim", "precious");
  fs::create_symlink("victim", folder.path() / "cases.csv");
  replace_file(folder.path() / "cases.csv", "new");
  EXPECT_EQ(text_of_file(folder.path() / "victim"), "precious");
  EXPECT_EQ(text_of_file(folder.path() / "cases.csv"), "new");
  EXPECT_FALSE(fs::is_symlink(folder.path() / "cases.csv"));
}

}  // namespace
}  // namespace sparkbench
