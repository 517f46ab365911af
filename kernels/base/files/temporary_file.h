// A file that appears whole under its name, or not at all.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {

/// Is to take the name `target` once it is written. Until then it has no name, where the file
/// system knows such files, so that nothing is left of a process that is killed. Elsewhere it has a
/// name beside `target`, `TARGET.RANDOM.tmp`, and is gone with this object. Neither follows a link
/// that somebody has put there. What fails sets errno.
class TemporaryFile {
 public:
  /// `target` is relative to the open folder, as for openat(): AT_FDCWD is where the process
  /// stands. `mode` holds whatever the umask is.
  TemporaryFile(int folder, std::filesystem::path target, mode_t mode);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool is_open() const { return file_.is_open(); }

  /// As FileDescriptor::write_durably().
  bool write(std::string_view text) { return file_.write_durably(text); }

  /// Replaces the file of the target's name, or a link, which is not followed.
  bool take_name();

 private:
  FileDescriptor open_file();
  FileDescriptor open_named();
  bool link_to_own_name();
  std::string drawn_name() const;

  int folder_;
  std::filesystem::path target_;
  std::string own_name_;  // "" while it has none
  FileDescriptor file_;
};

}  // namespace sparkbench
