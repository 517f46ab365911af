#include "harness/model/sass/cuobjdump.h"

#include <fmt/core.h>
#include <unistd.h>

#include "harness/environment_error.h"
#include "harness/model/sass/child_process.h"
#include "harness/model/sass/text_lines.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::string first_line(std::string_view text) {
  const std::string_view line = trimmed(text.substr(0, text.find('\n')));
  return line.empty() ? "it says nothing" : std::string(line);
}

std::string disassemble(const std::filesystem::path& cuobjdump, const std::string& flag,
                        const std::filesystem::path& binary) {
  const ChildOutput child = run_child(cuobjdump, {flag, binary.string()});
  const std::string complaint = child.err + child.out;
  if (complaint.find("does not contain device code") != std::string::npos) {
    throw UsageError(fmt::format(
        "--binary: {} holds no GPU code; allowed: what a CUDA compiler made, or was linked into",
        binary.string()));
  }
  if (child.exit_status != 0) {
    throw EnvironmentError(fmt::format(
        "{} {} {} failed with exit status {}: {}; is it older than the code? --cuobjdump FILE "
        "names "
        "another toolkit's",
        cuobjdump.string(), flag, binary.string(), child.exit_status, first_line(complaint)));
  }
  return child.out;
}

}  // namespace

std::filesystem::path find_cuobjdump(const std::filesystem::path& asked) {
  if (!asked.empty()) {
    // A name without a folder is one on PATH, as in a shell.
    std::filesystem::path program = asked.has_parent_path() ? asked : find_on_path(asked.string());
    if (std::filesystem::is_regular_file(program) && access(program.c_str(), X_OK) == 0) {
      return program;
    }
    throw UsageError(fmt::format(
        "--cuobjdump: {} is no program that can be run; allowed: a CUDA toolkit's cuobjdump",
        asked.string()));
  }
  std::filesystem::path found = find_on_path("cuobjdump");
  if (!found.empty()) return found;
  throw EnvironmentError(
      "no cuobjdump on PATH: it comes with the CUDA toolkit; name one with --cuobjdump FILE");
}

CodeListings read_code(const std::filesystem::path& cuobjdump,
                       const std::filesystem::path& binary) {
  return {read_sass(cuobjdump, binary), disassemble(cuobjdump, "-res-usage", binary)};
}

std::string read_sass(const std::filesystem::path& cuobjdump, const std::filesystem::path& binary) {
  if (!std::filesystem::is_regular_file(binary) || access(binary.c_str(), R_OK) != 0) {
    throw UsageError(fmt::format(
        "--binary: {} is no file that can be read; allowed: an executable, library, archive, "
        "object or cubin",
        binary.string()));
  }
  return disassemble(cuobjdump, "-sass", binary);
}

std::filesystem::path running_executable() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace sparkbench
