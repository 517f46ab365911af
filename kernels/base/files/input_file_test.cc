#include "kernels/base/files/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/testing/messages.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string error_of(const std::filesystem::path& path, Pipes pipes = Pipes::kRefused,
                     std::uint64_t most_bytes = 1 << 20) {
  return message_of<std::invalid_argument>([&] { read_file(path, pipes, most_bytes); });
}

TEST(ReadFile, GivesEveryByte) {
  const TemporaryFolder folder;
  std::string text(3 << 20, 'x');
  text.append({'\0', '\n'});
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

TEST(ReadFile, GivesUpAPipeThatNobodyWritesTo) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe, Pipes::kRead), "is a pipe that nobody writes to");
}

TEST(ReadFile, WaitsForAWriterThatPauses) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream file(pipe);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    file << "key" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    file << " = 1";
  });
  EXPECT_EQ(read_file(pipe, Pipes::kRead), "key = 1");
  writer.join();
}

TEST(ReadFile, RefusesMemoryThatCallsItselfAFile) {
  EXPECT_NE(error_of("/proc/self/mem").find("cannot be read"), std::string::npos);
}

TEST(RequireRegularFile, TakesNothingElse) {
  const TemporaryFolder folder;
  EXPECT_THROW(require_regular_file(folder.path()), std::invalid_argument);
  EXPECT_THROW(require_regular_file("/dev/null"), std::invalid_argument);
  EXPECT_THROW(require_regular_file(folder.path() / "none"), std::invalid_argument);
  write_file(folder.path() / "file", "");
  require_regular_file(folder.path() / "file");
}

TEST(ReadFile, RefusesWhatIsTooLong) {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "12345");
  EXPECT_EQ(error_of(folder.path() / "file", Pipes::kRefused, 4), "is longer than 4 bytes");
  std::filesystem::resize_file(folder.path() / "file", std::uintmax_t{1} << 40);
  EXPECT_EQ(error_of(folder.path() / "file", Pipes::kRefused, 4), "is longer than 4 bytes");
  write_file(folder.path() / "file", "12345");
  EXPECT_EQ(error_of(folder.path() / "file", Pipes::kRefused, 5), "");
}

struct KeptLine {
  std::uint64_t begin, bytes;
  std::string text;
  bool is_ended;

  bool operator==(const KeptLine&) const = default;
};

std::vector<KeptLine> lines_of(const std::filesystem::path& path, std::uint64_t most_kept = 99) {
  std::vector<KeptLine> lines;
  read_lines(path, most_kept, [&](const FileLine& line) {
    lines.push_back({line.begin, line.bytes, std::string(line.text), line.is_ended});
  });
  return lines;
}

TEST(ReadLines, GivesEachWithItsPlace) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, "ab\n\ncde");
  EXPECT_EQ(lines_of(path),
            (std::vector<KeptLine>{{0, 2, "ab", true}, {3, 0, "", true}, {4, 3, "cde", false}}));
  write_file(path, "a\n");
  EXPECT_EQ(lines_of(path), (std::vector<KeptLine>{{0, 1, "a", true}}));
  write_file(path, "");
  EXPECT_TRUE(lines_of(path).empty());
  EXPECT_THROW(lines_of(folder.path()), std::invalid_argument);
}

TEST(ReadLines, JoinsWhatItReadInParts) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  const std::string before((1 << 20) - 2, 'x'), across(3 << 20, 'y');
  write_file(path, before + "\n" + across + "\nz");
  const std::vector<KeptLine> lines = lines_of(path, 8 << 20);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, before);
  EXPECT_EQ(lines[1].text, across);
  EXPECT_EQ(lines[2], (KeptLine{before.size() + across.size() + 2, 1, "z", false}));
}

TEST(ReadLines, KeepsNoMoreThanItIsAskedTo) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  std::string text(3 << 20, 'x');
  text += "\nab\n";
  write_file(path, text);
  EXPECT_EQ(lines_of(path, 4),
            (std::vector<KeptLine>{{0, 3 << 20, "xxxx", true}, {(3 << 20) + 1, 2, "ab", true}}));
}

}  // namespace
}  // namespace sparkbench
