#include "kernels/base/files/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

namespace sparkbench {
namespace {

constexpr int kMostDraws = 100;

/// By which linkat() names an open file.
std::string path_of(const FileDescriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

}  // namespace

TemporaryFile::TemporaryFile(int folder, std::filesystem::path target, mode_t mode)
    : folder_(folder), target_(std::move(target)), file_(open_file()) {
  if (file_.is_open()) fchmod(file_.get(), mode);
}

TemporaryFile::~TemporaryFile() {
  if (!own_name_.empty()) unlinkat(folder_, own_name_.c_str(), 0);
}

FileDescriptor TemporaryFile::open_file() {
  const std::filesystem::path parent = target_.parent_path();
  FileDescriptor file(openat(folder_, parent.empty() ? "." : parent.c_str(),
                             O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  const bool can_be_named = file.is_open() && access(path_of(file).c_str(), F_OK) == 0;
  return can_be_named ? std::move(file) : open_named();
}

FileDescriptor TemporaryFile::open_named() {
  for (int draws = 0; draws < kMostDraws; ++draws) {
    std::string name = drawn_name();
    FileDescriptor file(
        openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.is_open()) own_name_ = std::move(name);
    if (file.is_open() || errno != EEXIST) return file;
  }
  return FileDescriptor(-1);
}

bool TemporaryFile::link_to_own_name() {
  for (int draws = 0; draws < kMostDraws; ++draws) {
    std::string name = drawn_name();
    if (linkat(AT_FDCWD, path_of(file_).c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      own_name_ = std::move(name);
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

bool TemporaryFile::take_name() {
  if (own_name_.empty() && !link_to_own_name()) return false;
  if (renameat(folder_, own_name_.c_str(), folder_, target_.c_str()) != 0) return false;
  own_name_.clear();
  return true;
}

std::string TemporaryFile::drawn_name() const {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device random;
  std::string name = target_.string() + ".";
  for (int i = 0; i < 6; ++i) name += kLetters[random() % kLetters.size()];
  return name + ".tmp";
}

}  // namespace sparkbench
