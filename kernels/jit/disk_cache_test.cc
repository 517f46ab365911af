#include "kernels/jit/disk_cache.h"

#include <gtest/gtest.h>
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
  setenv("SPARKBENCH_JIT_CACHE", "off", 1);
  EXPECT_EQ(DiskCache::of_environment().folder(), "");
}

}  // namespace
}  // namespace sparkbench
