#include "results/record/comparability.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(Comparability, IsNotTouchedByTimesHostsAndTimeouts) {
  RunRecord other = sample_run();
  other.run.id = "another";
  other.run.started_at = "2030-01-01T00:00:00Z";
  other.environment.cpu = "another";
  other.environment.os = "another";
  other.environment.device.memory_bytes = 1;
  other.method.timeout_s = 3.0;
  other.cases.clear();
  EXPECT_TRUE(find_differences(sample_run(), other).empty());
}

TEST(Comparability, NamesWhatDiffers) {
  RunRecord other = sample_run();
  other.build.git_sha = "abc";
  other.environment.device.name = "H100";
  other.environment.driver_version = "570.1";
  other.method.tolerance_ratio = 3.0;
  other.run.seed = 1;
  std::vector<std::string> found;
  for (const Difference& difference : find_differences(sample_run(), other)) {
    found.push_back(std::string(difference.of) + " " + difference.field + " " + difference.first +
                    " " + difference.second);
  }
  EXPECT_EQ(found,
            std::vector<std::string>(
                {"build build.git_sha null abc", "device environment.device.name V100 H100",
                 "device environment.driver_version null 570.1",
                 "method method.tolerance_ratio 2 3", "method run.seed 18364758544493064720 1"}));
}

TEST(Comparability, CountsTheMemoryOfAGpu) {
  RunRecord first = sample_run();
  first.environment.device.kind = DeviceKind::kGpu;
  RunRecord second = first;
  second.environment.device.memory_bytes = 1;
  EXPECT_EQ(find_differences(first, second).size(), 1u);
}

TEST(Comparability, IsNotTouchedByWhatOthersTakeOfAGpu) {
  RunRecord first = sample_run();
  first.environment.device.kind = DeviceKind::kGpu;
  first.environment.device.memory_available_bytes = std::uint64_t{15} << 30;
  RunRecord second = first;
  second.environment.device.memory_available_bytes = std::uint64_t{3} << 30;
  EXPECT_TRUE(find_differences(first, second).empty());
}

}  // namespace
}  // namespace sparkbench
