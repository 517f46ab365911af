// Reading a file whole, or line by line, without waiting for ever and without believing what is
// none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace sparkbench {

enum class Pipes { kRefused, kRead };

/// All that the file holds. Throws std::invalid_argument, a few words without the path, when it
/// cannot be read, when it is a folder, a device or, unless `pipes` says otherwise, a pipe (which
/// may never end), and when it is longer than `most_bytes`.
std::string read_file(const std::filesystem::path& path, Pipes pipes = Pipes::kRefused,
                      std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max());

struct FileLine {
  std::uint64_t begin, bytes;  // in the file, without the newline
  std::string_view text;       // all of it, or as much as is kept of a line
  bool is_ended;               // by a newline: the last line may lack it
};

/// Calls `use` with every line of a regular file, one after the other, of which the first
/// `most_kept` bytes are kept in memory. Throws as read_file() does.
void read_lines(const std::filesystem::path& path, std::uint64_t most_kept,
                const std::function<void(const FileLine&)>& use);

}  // namespace sparkbench
