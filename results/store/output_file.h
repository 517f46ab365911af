// Writes results so that a reader never sees a partial file. "-" is the standard output.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <stdexcept>
#include <string_view>

namespace sparkbench {

/// A result could not be written. One line: the path or flag, what went wrong, and a remedy. Exit
/// code 5.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether `path` is "-" or is the file or pipe behind the standard output, /dev/stdout. Through a
/// second descriptor the two would overwrite each other.
bool is_standard_output(const std::filesystem::path& path);

/// Whether `a` and `b` are the same file; false for a device, such as /dev/null.
bool is_same_output(const std::filesystem::path& a, const std::filesystem::path& b);

/// Writes a temporary file and renames it to `path`. On failure throws OutputError, leaves no trace
/// and keeps an older `path`. A new file gets the old one's permissions. A device or pipe is
/// written directly. A symbolic link is kept, and its target is written.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Like write_file(), but replaces `path` whatever it is, even a link or a device. For folders that
/// somebody else may have filled.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// write_file(), or `standard_output` when is_standard_output(path).
void write_output(const std::filesystem::path& path, std::string_view text,
                  std::ostream& standard_output);

/// Throws OutputError, naming `flag`, if `path` cannot be written; called before the first case.
/// Leaves no trace.
void check_writable(std::string_view flag, const std::filesystem::path& path);

}  // namespace sparkbench
