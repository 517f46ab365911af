// Reading a file whole, without waiting for ever and without believing what is none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace sparkbench {

enum class Pipes { kRefused, kRead };

/// All that the file holds. Throws std::invalid_argument, a few words without the path, when it
/// cannot be read, when it is a folder, a device or, unless `pipes` says otherwise, a pipe (which
/// may never end), and when it is longer than `most_bytes`.
std::string read_file(const std::filesystem::path& path, Pipes pipes = Pipes::kRefused,
                      std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max());

}  // namespace sparkbench
