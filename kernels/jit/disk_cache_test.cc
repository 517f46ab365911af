#include "kernels/jit/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest()
      : folder_(fs::path(testing::TempDir()) / ("disk_cache_" + std::to_string(getpid()))),
        cache_(folder_ / "of" / "two") {}
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  std::string bytes_of(const std::string& key) const {
    std::ifstream file(cache_.file_of(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void damage(const std::string& key, const std::string& bytes) const {
    std::ofstream(cache_.file_of(key), std::ios::binary | std::ios::trunc) << bytes;
  }

  fs::path folder_;
  DiskCache cache_;
};

TEST_F(DiskCacheTest, KeepsWhatWasWritten) {
  const std::string content("a\0b", 3);
  EXPECT_FALSE(cache_.read("key"));
  EXPECT_EQ(cache_.write("key", content), "");
  EXPECT_EQ(cache_.read("key"), content);
  EXPECT_FALSE(cache_.read("other key"));
  EXPECT_EQ(cache_.write("key", ""), "");
  EXPECT_EQ(cache_.read("key"), "");
}

TEST_F(DiskCacheTest, LeavesNoOtherFiles) {
  EXPECT_EQ(cache_.write("key", "content"), "");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(cache_.folder())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(DiskCacheTest, DoesNotReadADamagedEntry) {
  ASSERT_EQ(cache_.write("key", "what was compiled"), "");
  const std::string whole = bytes_of("key");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    damage("key", flipped);
    ASSERT_FALSE(cache_.read("key")) << "byte " << i;
    damage("key", whole.substr(0, i));
    ASSERT_FALSE(cache_.read("key")) << "cut at " << i;
  }
  damage("key", whole + "x");
  EXPECT_FALSE(cache_.read("key"));
  EXPECT_EQ(cache_.write("key", "what was compiled"), "");
  EXPECT_EQ(cache_.read("key"), "what was compiled");
}

/// As if two sources had one hash.
TEST_F(DiskCacheTest, DoesNotReadTheEntryOfAnotherKey) {
  ASSERT_EQ(cache_.write("key", "content"), "");
  fs::copy_file(cache_.file_of("key"), cache_.file_of("yek"));
  EXPECT_FALSE(cache_.read("yek"));
}

TEST_F(DiskCacheTest, IsWholeWhileManyWrite) {
  const std::vector<std::string> contents = {std::string(100000, 'a'), std::string(200000, 'b')};
  ASSERT_EQ(cache_.write("key", contents[0]), "");
  std::vector<std::thread> writers;
  for (const std::string& content : contents) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(cache_.write("key", content), "");
    });
  }
  for (int i = 0; i < 50; ++i) {
    const std::optional<std::string> read = cache_.read("key");
    ASSERT_TRUE(read);
    ASSERT_TRUE(*read == contents[0] || *read == contents[1]);
  }
  for (std::thread& writer : writers) writer.join();
}

TEST_F(DiskCacheTest, SaysWhyItCannotWrite) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "no folder";
  const DiskCache cache(folder_ / "file" / "of");
  EXPECT_NE(cache.write("key", "content").find("file"), std::string::npos);
  EXPECT_FALSE(cache.read("key"));
}

/// Files that stand in for an entry that the cache had written.
class DiskCacheEntry : public DiskCacheTest {
 protected:
  DiskCacheEntry() {
    EXPECT_EQ(cache_.write("key", "content"), "");
    entry_ = cache_.file_of("key");
  }
  /// It is not read, and newly compiled code replaces it.
  void expect_as_if_not_there() const {
    EXPECT_FALSE(cache_.read("key"));
    EXPECT_EQ(cache_.write("key", "anew"), "");
    EXPECT_EQ(cache_.read("key"), "anew");
  }

  fs::path entry_;
};

TEST_F(DiskCacheEntry, OfAFolderIsNotThere) {
  fs::remove(entry_);
  fs::create_directory(entry_);
  EXPECT_FALSE(cache_.read("key"));
  EXPECT_NE(cache_.write("key", "anew").find(entry_.string()), std::string::npos);
}

TEST_F(DiskCacheEntry, OfAPipeIsNotThere) {
  fs::remove(entry_);
  ASSERT_EQ(mkfifo(entry_.c_str(), 0600), 0);
  expect_as_if_not_there();
}

TEST_F(DiskCacheEntry, OfALinkIsNotThereAndItsTargetStays) {
  fs::rename(entry_, folder_ / "target");
  fs::create_symlink(folder_ / "target", entry_);
  expect_as_if_not_there();
  EXPECT_FALSE(fs::is_symlink(entry_));
  std::ifstream target(folder_ / "target", std::ios::binary);
  EXPECT_NE((std::string{std::istreambuf_iterator<char>(target), {}}).find("content"),
            std::string::npos);
  fs::remove(entry_);
  fs::create_symlink("/dev/zero", entry_);
  expect_as_if_not_there();
}

TEST_F(DiskCacheEntry, OfAHugeFileIsNotThere) {
  fs::resize_file(entry_, std::uintmax_t{8} << 30);
  expect_as_if_not_there();
}

TEST_F(DiskCacheEntry, ThatOthersMayWriteIsNotThere) {
  ASSERT_EQ(chmod(entry_.c_str(), 0664), 0);
  expect_as_if_not_there();
  ASSERT_EQ(chmod(entry_.c_str(), 0646), 0);
  expect_as_if_not_there();
}

TEST_F(DiskCacheEntry, OfAnotherUserIsNotThere) {
  if (geteuid() != 0) GTEST_SKIP() << "gives a file to another user";
  ASSERT_EQ(chown(entry_.c_str(), 65534, 65534), 0);
  expect_as_if_not_there();
}

TEST_F(DiskCacheTest, IsNotUsedWhereOthersMayWrite) {
  ASSERT_EQ(cache_.write("key", "content"), "");
  ASSERT_EQ(chmod(cache_.folder().c_str(), 01777), 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cache_.read("key"));
  EXPECT_NE(cache_.write("key", "anew").find("others than this user can write"), std::string::npos);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("sparkbench: the cache in " + cache_.folder().string()), 0u) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "once: " << said;
  ASSERT_EQ(chmod(cache_.folder().c_str(), 0755), 0);
  EXPECT_EQ(cache_.read("key"), "content");
}

TEST_F(DiskCacheTest, IsNotUsedInAnotherUsersFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "gives a folder to another user";
  ASSERT_EQ(cache_.write("key", "content"), "");
  ASSERT_EQ(chown(cache_.folder().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(cache_.read("key"));
  EXPECT_NE(cache_.write("key", "anew"), "");
}

TEST_F(DiskCacheTest, MakesFoldersForThisUserAlone) {
  for (const mode_t mask : {0, 077, 0777}) {
    const mode_t before = umask(mask);
    EXPECT_EQ(cache_.write("key", "content"), "");
    umask(before);
    for (const fs::path& made : {cache_.folder(), cache_.folder().parent_path()}) {
      EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all) << made << " " << mask;
    }
    EXPECT_EQ(cache_.read("key"), "content");
    fs::remove_all(folder_);
  }
}

TEST_F(DiskCacheTest, KeepsNothingWithoutAFolder) {
  const DiskCache cache({});
  EXPECT_EQ(cache.write("key", "content"), "");
  EXPECT_FALSE(cache.read("key"));
}

TEST_F(DiskCacheTest, IsWhereTheEnvironmentSays) {
  setenv("HOME", "/home/of", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("SPARKBENCH_JIT_CACHE");
  EXPECT_EQ(DiskCache::of_environment().folder(), "/home/of/.cache/sparkbench");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(DiskCache::of_environment().folder(), "/caches/sparkbench");
  setenv("SPARKBENCH_JIT_CACHE", "/own", 1);
  EXPECT_EQ(DiskCache::of_environment().folder(), "/own");
  for (const char* const off : {"off", "OFF", "Off"}) {
    setenv("SPARKBENCH_JIT_CACHE", off, 1);
    EXPECT_EQ(DiskCache::of_environment().folder(), "");
  }
}

TEST_F(DiskCacheTest, IsNotWhereOneHappensToStand) {
  unsetenv("SPARKBENCH_JIT_CACHE");
  setenv("HOME", "/home/of", 1);
  setenv("XDG_CACHE_HOME", "caches", 1);
  EXPECT_EQ(DiskCache::of_environment().folder(), "/home/of/.cache/sparkbench");
  setenv("HOME", "home", 1);
  EXPECT_EQ(DiskCache::of_environment().folder(), "");
}

}  // namespace
}  // namespace sparkbench
