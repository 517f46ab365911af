#include "harness/devices/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <limits>

#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(HostMemory, IsWithinTheCgroupAndItsParents) {
  const TemporaryFolder folder;
  const auto groups = folder.path() / "groups", mount = folder.path() / "mount";
  write(groups, "0::/job/step\n");
  EXPECT_EQ(cgroup_memory_bytes(groups, mount), std::numeric_limits<std::uint64_t>::max());
  write(mount / "job/step/memory.max", "max\n");
  write(mount / "job/memory.max", "1073741824\n");
  EXPECT_EQ(cgroup_memory_bytes(groups, mount), 1u << 30);
  write(mount / "job/step/memory.max", "4096\n");
  EXPECT_EQ(cgroup_memory_bytes(groups, mount), 4096u);
}

TEST(HostMemory, KnowsTheOlderCgroups) {
  const TemporaryFolder folder;
  const auto groups = folder.path() / "groups", mount = folder.path() / "mount";
  write(groups, "5:cpu,cpuacct:/\n4:memory:/docker/x\n");
  write(mount / "memory/docker/x/memory.limit_in_bytes", "2048\n");
  EXPECT_EQ(cgroup_memory_bytes(groups, mount), 2048u);
}

TEST(HostMemory, IsWithinTheProcessLimit) {
  const std::uint64_t all = host_memory_bytes();
  EXPECT_GT(all, 0u);
  rlimit old{};
  getrlimit(RLIMIT_AS, &old);
  const rlimit less{all / 2, old.rlim_max};
  setrlimit(RLIMIT_AS, &less);
  EXPECT_EQ(host_memory_bytes(), all / 2);
  setrlimit(RLIMIT_AS, &old);
}

}  // namespace
}  // namespace sparkbench
