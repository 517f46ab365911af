// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sparkbench {

/// The least of the machine's memory, the cgroup's limit (a container, a batch job), and the limits
/// of ulimit -v and -d.
std::uint64_t host_memory_bytes();

/// The smallest limit, under `mount`, of the groups in a /proc/self/cgroup file and of their
/// parents: memory.max in version 2, memory.limit_in_bytes in version 1. The largest
/// std::uint64_t if nothing is limited.
std::uint64_t cgroup_memory_bytes(const std::filesystem::path& groups,
                                  const std::filesystem::path& mount);

}  // namespace sparkbench
