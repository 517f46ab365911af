// The GPU code of a binary, disassembled by the CUDA toolkit's cuobjdump.
#pragma once

#include <filesystem>
#include <string>

namespace sparkbench {

struct CodeListings {
  std::string sass;   // cuobjdump -sass
  std::string usage;  // cuobjdump -res-usage
};

/// The tool at `asked`, or the one on PATH when `asked` is empty. Throws UsageError for an `asked`
/// that cannot be run, EnvironmentError when there is none on PATH.
std::filesystem::path find_cuobjdump(const std::filesystem::path& asked);

/// `binary` is an executable, library, archive, object or cubin. Throws UsageError, naming
/// --binary, for one that cannot be read or holds no GPU code, and EnvironmentError for anything
/// else that the tool complains of.
CodeListings read_code(const std::filesystem::path& cuobjdump, const std::filesystem::path& binary);

/// Its machine code alone, as read_code.
std::string read_sass(const std::filesystem::path& cuobjdump, const std::filesystem::path& binary);

/// The executable of this process.
std::filesystem::path running_executable();

}  // namespace sparkbench
