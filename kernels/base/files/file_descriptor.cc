#include "kernels/base/files/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace sparkbench {

FileDescriptor::~FileDescriptor() {
  if (is_open()) close(descriptor_);
}

bool FileDescriptor::write_durably(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor_, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  // A pipe or a terminal has no disk to wait for (EINVAL, or EROFS on some systems).
  return fsync(descriptor_) == 0 || errno == EINVAL || errno == EROFS;
}

}  // namespace sparkbench
