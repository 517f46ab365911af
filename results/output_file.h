// Writing results so that a reader never sees half of one. "-" is the standard output.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string_view>

namespace sparkbench {

/// Writes a file beside `path` and renames it to `path`. Throws OutputError, and then leaves
/// nothing behind and an older `path` as it was.
void write_file(const std::filesystem::path& path, std::string_view text);

/// write_file(), or `standard_output` when `path` is "-".
void write_output(const std::filesystem::path& path, std::string_view text,
                  std::ostream& standard_output);

/// Throws OutputError, naming `flag`, when `path` could not be written; called before the first
/// case. Leaves no trace.
void check_writable(std::string_view flag, const std::filesystem::path& path);

}  // namespace sparkbench
