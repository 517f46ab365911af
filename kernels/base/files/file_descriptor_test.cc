#include "kernels/base/files/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

TEST(FileDescriptor, WritesTheWholeText) {
  const TemporaryFolder folder;
  const std::string text(1 << 20, 'x');
  FileDescriptor file(open((folder.path() / "file").c_str(), O_WRONLY | O_CREAT, 0644));
  ASSERT_TRUE(file.is_open());
  EXPECT_TRUE(file.write_durably(text));
  EXPECT_EQ(text_of_file(folder.path() / "file"), text);
}

TEST(FileDescriptor, IsNotOpenWhenOpeningFailed) {
  EXPECT_FALSE(FileDescriptor(open("/no/such/file", O_WRONLY)).is_open());
}

TEST(FileDescriptor, SaysWhenTheDiskIsFull) {
  FileDescriptor full(open("/dev/full", O_WRONLY));
  if (!full.is_open()) GTEST_SKIP() << "no /dev/full here";
  EXPECT_FALSE(full.write_durably("x"));
  EXPECT_EQ(errno, ENOSPC);
}

TEST(FileDescriptor, IsClosedWithItsOwner) {
  int descriptor = -1;
  {
    const FileDescriptor file(open("/dev/null", O_WRONLY));
    descriptor = file.get();
    EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

}  // namespace
}  // namespace sparkbench
