#include "results/store/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <system_error>

#include "kernels/base/files/file_descriptor.h"
#include "kernels/base/files/temporary_file.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

std::string system_message() { return std::strerror(errno); }

[[noreturn]] void fail_to_write(const fs::path& path) {
  throw OutputError(fmt::format("'{}': {}", path.string(), system_message()));
}

/// A device, pipe or terminal: a rename would replace it, and no reader mistakes it for an
/// incomplete file.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Follows symbolic links, so that a rename replaces the file and not the link to it.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : target;
}

void write_special(const fs::path& path, std::string_view text) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !file.write_durably(text)) fail_to_write(path);
}

/// A file's permissions, or the default for a new one.
mode_t mode_of(const fs::path& target) {
  struct stat status = {};
  if (lstat(target.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return status.st_mode & 0777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0644 & ~mask;
}

void replace(const fs::path& target, std::string_view text) {
  TemporaryFile file(AT_FDCWD, target, mode_of(target));
  if (!file.is_open() || !file.write(text) || !file.take_name()) fail_to_write(target);
}

/// Throws OutputError if write_file() would, as far as that is known in advance. Does not open a
/// pipe, because its reader would see the end.
void probe(const fs::path& path) {
  if (!is_special(path)) {
    const fs::path target = resolve(path);
    if (!TemporaryFile(AT_FDCWD, target, mode_of(target)).is_open()) fail_to_write(target);
  } else if (access(path.c_str(), W_OK) != 0) {
    fail_to_write(path);
  }
}

}  // namespace

bool is_standard_output(const fs::path& path) {
  if (path == "-") return true;
  struct stat named = {};
  struct stat standard = {};
  if (stat(path.c_str(), &named) != 0 || fstat(STDOUT_FILENO, &standard) != 0) return false;
  return !S_ISCHR(named.st_mode) && named.st_dev == standard.st_dev &&
         named.st_ino == standard.st_ino;
}

bool is_same_output(const fs::path& a, const fs::path& b) {
  if (is_standard_output(a) || is_standard_output(b)) {
    return is_standard_output(a) && is_standard_output(b);
  }
  std::error_code ignored;
  return !fs::is_character_file(a, ignored) && resolve(a) == resolve(b);
}

void write_file(const fs::path& path, std::string_view text) {
  if (is_special(path)) return write_special(path, text);
  replace(resolve(path), text);
}

void replace_file(const fs::path& path, std::string_view text) { replace(path, text); }

void write_output(const fs::path& path, std::string_view text, std::ostream& standard_output) {
  if (!is_standard_output(path)) return write_file(path, text);
  standard_output << text << std::flush;
  if (!standard_output) throw OutputError("standard output: could not be written");
}

void check_writable(std::string_view flag, const fs::path& path) {
  if (is_standard_output(path)) return;
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
    probe(path);
  } catch (const OutputError&) {
    reject("cannot be written (" + system_message() + ")");
  }
}

}  // namespace sparkbench
