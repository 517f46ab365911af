// Writing results so that a reader never sees half of one. "-" is the standard output.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string_view>

namespace sparkbench {

/// Whether `path` is "-" or names the file or pipe that the standard output goes to, /dev/stdout.
/// Through another descriptor the two would overwrite each other.
bool is_standard_output(const std::filesystem::path& path);

/// Whether what is written to `a` and to `b` would meet in one file; never for a device, as
/// /dev/null is.
bool is_same_output(const std::filesystem::path& a, const std::filesystem::path& b);

/// Writes a file beside `path` and renames it to `path`. Throws OutputError, and then leaves
/// nothing behind and an older `path` as it was, whose permissions a new one gets. What is no
/// regular file (a device, a pipe) is written directly; a symbolic link stays, and its target is
/// written.
void write_file(const std::filesystem::path& path, std::string_view text);

/// As write_file(), but whatever `path` is, a link or a device, the file takes its place. For
/// folders that somebody else may have filled.
void replace_file(const std::filesystem::path& path, std::string_view text);

/// write_file(), or `standard_output` when is_standard_output(path).
void write_output(const std::filesystem::path& path, std::string_view text,
                  std::ostream& standard_output);

/// Throws OutputError, naming `flag`, when `path` could not be written; called before the first
/// case. Leaves no trace.
void check_writable(std::string_view flag, const std::filesystem::path& path);

}  // namespace sparkbench
