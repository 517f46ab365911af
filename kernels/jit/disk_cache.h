// Files of expensive results, each under a hash of all its inputs. Several processes may share a
// folder: a file is complete before it gets its name. A damaged file counts as absent.
//
// An entry is machine code that is about to run: as with keys in ~/.ssh, nobody else may have
// written it. The folder and each entry belong to this user or to root and are writable for nobody
// else. Links are not followed inside the folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {

class DiskCache {
 public:
  /// An empty `folder` keeps nothing.
  explicit DiskCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// SPARKBENCH_JIT_CACHE, or `sparkbench` in $XDG_CACHE_HOME or ~/.cache. Nothing where that
  /// variable is "off", in any case, or no folder is known. A relative XDG_CACHE_HOME or HOME is as
  /// if it were not set (XDG Base Directory Specification).
  static DiskCache of_environment();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file_of(std::string_view key) const { return folder_ / name_of(key); }

  /// The text last written under the key. Empty if there is none, if it is damaged, or if
  /// another user may have written it.
  std::optional<std::string> read(std::string_view key) const;

  /// Why it could not be written; "" if it was, or if there is no folder. Makes the folder,
  /// accessible only to this user.
  std::string write(std::string_view key, std::string_view content) const;

 private:
  static std::string name_of(std::string_view key);
  FileDescriptor open_folder(std::string& why_not) const;

  std::filesystem::path folder_;
};

}  // namespace sparkbench
