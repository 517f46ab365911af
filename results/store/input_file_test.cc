#include "results/store/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <stdexcept>

#include "results/store/output_file.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

std::string error_of(const std::filesystem::path& path, Pipes pipes = Pipes::kRefused,
                     std::uint64_t most_bytes = 1 << 20) {
  try {
    read_file(path, pipes, most_bytes);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadFile, GivesEveryByte) {
  const TemporaryFolder folder;
  const std::string text = std::string(3 << 20, 'x') + '\0' + "\n";
  write_file(folder.path() / "file", text);
  EXPECT_EQ(read_file(folder.path() / "file"), text);
  write_file(folder.path() / "file", "");
  EXPECT_EQ(read_file(folder.path() / "file"), "");
}

TEST(ReadFile, RefusesFoldersDevicesAndWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(folder.path()), "is a folder");
  EXPECT_EQ(error_of("/dev/zero", Pipes::kRead), "is no regular file");
  EXPECT_EQ(error_of(folder.path() / "none"), "cannot be read (No such file or directory)");
}

TEST(ReadFile, RefusesAPipeWithoutWaitingForIt) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe), "is a pipe, no regular file");
  auto writer = std::async(std::launch::async, [&] { write_file(pipe, "key = 1"); });
  EXPECT_EQ(read_file(pipe, Pipes::kRead), "key = 1");
}

TEST(ReadFile, RefusesWhatIsTooLong) {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "12345");
  EXPECT_EQ(error_of(folder.path() / "file", Pipes::kRefused, 4), "is longer than 4 bytes");
  EXPECT_EQ(error_of(folder.path() / "file", Pipes::kRefused, 5), "no error");
}

}  // namespace
}  // namespace sparkbench
