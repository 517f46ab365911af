// Files of what took long to make, each under a hash of all that it was made of. Several processes
// may share a folder: a file is written under a name of its own and then renamed. What is damaged
// is as if it were not there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sparkbench {

class DiskCache {
 public:
  /// Of no folder keeps nothing.
  explicit DiskCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// SPARKBENCH_JIT_CACHE, or `sparkbench` in $XDG_CACHE_HOME or ~/.cache. Nothing where that
  /// variable is "off", or no folder is known.
  static DiskCache of_environment();

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file_of(std::string_view key) const;

  /// What was written last under the key. Nothing where there is none, or it is damaged.
  std::optional<std::string> read(std::string_view key) const;

  /// Why it could not be written; "" where it was, or where there is no folder.
  std::string write(std::string_view key, std::string_view content) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace sparkbench
