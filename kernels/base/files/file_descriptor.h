// An open file of the operating system, closed with its owner.
#pragma once

#include <string_view>
#include <utility>

namespace sparkbench {

class FileDescriptor {
 public:
  /// Takes what open() returned; negative when it failed.
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

  /// Writes all of `text` and has it on the disk (fsync). False when that failed, with errno set.
  bool write_durably(std::string_view text);

 private:
  int descriptor_;
};

}  // namespace sparkbench
