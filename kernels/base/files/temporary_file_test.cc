#include "kernels/base/files/temporary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFile, TakesTheNameWithItsMode) {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "file";
  const mode_t before = umask(077);
  {
    TemporaryFile file(AT_FDCWD, target, 0644);
    EXPECT_TRUE(file.is_open() && file.write("new") && file.take_name());
  }
  umask(before);
  EXPECT_EQ(text_of_file(target), "new");
  EXPECT_EQ(fs::status(target).permissions(), static_cast<fs::perms>(0644));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(TemporaryFile, LeavesNothingWithoutItsName) {
  const TemporaryFolder folder;
  {
    TemporaryFile file(AT_FDCWD, folder.path() / "file", 0644);
    EXPECT_TRUE(file.write("half"));
  }
  EXPECT_EQ(folder.entries(), 0);
}

/// Where the file system has files without a name: a killed process leaves none.
TEST(TemporaryFile, HasNoNameWhileItIsWritten) {
  const TemporaryFolder folder;
  const int nameless = open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) GTEST_SKIP() << "no O_TMPFILE here";
  close(nameless);
  TemporaryFile file(AT_FDCWD, folder.path() / "file", 0644);
  EXPECT_TRUE(file.write("half"));
  EXPECT_EQ(folder.entries(), 0);
}

TEST(TemporaryFile, ReplacesALinkAndNotItsTarget) {
  const TemporaryFolder folder;
  fs::create_symlink("victim", folder.path() / "file");
  TemporaryFile file(AT_FDCWD, folder.path() / "file", 0600);
  EXPECT_TRUE(file.write("new") && file.take_name());
  EXPECT_FALSE(fs::is_symlink(folder.path() / "file"));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(TemporaryFile, IsRelativeToAnOpenFolder) {
  const TemporaryFolder folder;
  const FileDescriptor open_folder(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  TemporaryFile file(open_folder.get(), "file", 0600);
  EXPECT_TRUE(file.write("new") && file.take_name());
  EXPECT_EQ(text_of_file(folder.path() / "file"), "new");
}

TEST(TemporaryFile, FailsInAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  errno = 0;
  EXPECT_FALSE(TemporaryFile(AT_FDCWD, folder.path() / "no" / "file", 0600).is_open());
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace sparkbench
