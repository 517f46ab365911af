#include "harness/devices/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// "max", a text that is not a number, and a missing file mean no limit.
std::uint64_t limit_in(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t bytes = 0;
  return stream >> bytes ? bytes : kUnlimited;
}

std::uint64_t least_limit_above(const fs::path& mount, const std::string& group, const char* file) {
  std::uint64_t least = limit_in(mount / file);
  fs::path folder = mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    folder /= part;
    least = std::min(least, limit_in(folder / file));
  }
  return least;
}

std::uint64_t process_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return kUnlimited;
  return limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
}

}  // namespace

std::uint64_t cgroup_memory_bytes(const fs::path& groups, const fs::path& mount) {
  std::uint64_t least = kUnlimited;
  std::ifstream stream(groups);
  for (std::string line; std::getline(stream, line);) {  // "0::/path", "4:memory:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_limit_above(mount, group, "memory.max"));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit_above(mount / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t host_memory_bytes() {
  const std::uint64_t physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return std::min({physical, cgroup_memory_bytes("/proc/self/cgroup", "/sys/fs/cgroup"),
                   process_limit(RLIMIT_AS), process_limit(RLIMIT_DATA)});
}

}  // namespace sparkbench
