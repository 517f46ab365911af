// Running another program and taking what it writes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sparkbench {

struct ChildOutput {
  int exit_status;  // 128 + the signal for one that was killed
  std::string out, err;
};

/// Runs `program`, waits for it, and returns all that it wrote. Its own folder comes first on the
/// child's PATH: tools find the others of their installation there. Throws std::system_error when
/// it cannot be started.
ChildOutput run_child(const std::filesystem::path& program,
                      const std::vector<std::string>& arguments);

/// The executable of that name on PATH; empty when there is none.
std::filesystem::path find_on_path(const std::string& name);

}  // namespace sparkbench
