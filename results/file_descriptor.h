// An open file of the operating system, closed with its owner.
#pragma once

#include <string_view>

namespace sparkbench {

class FileDescriptor {
 public:
  /// Takes what open() returned; negative when it failed.
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

  /// Writes all of `text` and has it on the disk (fsync). False when that failed, with errno set.
  bool write_durably(std::string_view text);

 private:
  int descriptor_;
};

}  // namespace sparkbench
