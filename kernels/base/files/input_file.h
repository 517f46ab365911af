// Reading a file that somebody names, whole or line by line. It may be no file, never end, or be
// larger than the memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sparkbench {

/// Whether pipes are read. The reader gives up one that nobody opens to write within 2 s, and one
/// whose writer writes nothing for a minute.
enum class Pipes { kRefused, kRead };

/// 4 GiB: of a stored run with a million cases.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{4} << 30;

/// All that the file holds. Throws std::invalid_argument, a few words without the path, when it
/// cannot be read, when it is a folder, a device or, unless `pipes` says otherwise, a pipe, and
/// when it is longer than `most_bytes`.
std::string read_file(const std::filesystem::path& path, Pipes pipes = Pipes::kRefused,
                      std::uint64_t most_bytes = kMostFileBytes);

/// Throws as read_file() does of what is no regular file or cannot be read.
void require_regular_file(const std::filesystem::path& path);

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
