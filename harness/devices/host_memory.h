// How much memory this process may have.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sparkbench {

/// The least of what the machine has, what the process' cgroup is allowed (a container, a batch
/// job), and what ulimit -v and -d leave.
std::uint64_t host_memory_bytes();

/// The least limit that a file /proc/self/cgroup names, and its parents', under `mount`: memory.max
/// of version 2, memory.limit_in_bytes of version 1. The most there is when none is limited.
std::uint64_t cgroup_memory_bytes(const std::filesystem::path& groups,
                                  const std::filesystem::path& mount);

}  // namespace sparkbench
