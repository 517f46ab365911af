#include "results/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>
#include <system_error>

#include "results/file_descriptor.h"
#include "results/output_error.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string system_message() { return std::strerror(errno); }

/// A file beside `target` that is gone with this object unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : path_(target.string() + fmt::format(".{}.tmp", getpid())),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (!file_.is_open())
      throw OutputError(fmt::format("'{}': {}", target.string(), system_message()));
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view text) {
    if (!file_.write_durably(text)) {
      throw OutputError(fmt::format("'{}': {}", path_.string(), system_message()));
    }
  }

  void rename_to(const fs::path& target) {
    std::error_code error;
    fs::rename(path_, target, error);
    if (error) throw OutputError(fmt::format("'{}': {}", target.string(), error.message()));
  }

 private:
  fs::path path_;
  FileDescriptor file_;
};

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  TemporaryFile file(path);
  file.write(text);
  file.rename_to(path);
}

void write_output(const fs::path& path, std::string_view text, std::ostream& standard_output) {
  if (path != "-") return write_file(path, text);
  standard_output << text << std::flush;
  if (!standard_output) throw OutputError("standard output: could not be written");
}

void check_writable(std::string_view flag, const fs::path& path) {
  if (path == "-") return;
  const auto reject = [&](std::string_view wrong) {
    throw OutputError(
        fmt::format("{}: '{}' {}; give a file in a folder that exists and can be written, or - for "
                    "the standard output",
                    flag, path.string(), wrong));
  };
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.empty()) reject("is empty");
  if (fs::is_directory(path, ignored)) reject("is a folder");
  if (!fs::is_directory(folder, ignored)) reject("is in a folder that does not exist");
  try {
    TemporaryFile probe(path);
  } catch (const OutputError&) {
    reject("cannot be written (" + system_message() + ")");
  }
}

}  // namespace sparkbench
