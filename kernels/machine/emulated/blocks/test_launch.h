// Shared by the emulator's tests: launches of a few threads, and checks of a finding.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {

struct TestLaunch {
  int warps = 1;
  std::array<int, 3> grid = {1, 1, 1};
  std::size_t shared_bytes = 4096;
  std::span<const GlobalRegion> regions = {};
  std::uint64_t schedule_seed = 0;
  int workers = 1;
  bool detect = true;
  const char* profile = "volta";
};

inline EmulationReport run(const TestLaunch& launch, const EmulatedKernel& kernel) {
  const LaunchShape shape{"kernel", launch.grid, launch.warps * kWarpLanes, launch.shared_bytes};
  const EmulationOptions options{.profile = &arithmetic_profile(launch.profile),
                                 .detect = launch.detect,
                                 .schedule_seed = launch.schedule_seed,
                                 .workers = launch.workers};
  return emulate(shape, launch.regions, options, kernel);
}

/// The report holds one finding, of this kind and thread, at `line` of the file that asks.
inline void expect_finding(const EmulationReport& report, FindingKind kind, int thread, int line,
                           const char* file) {
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings.front();
  EXPECT_EQ(to_string(finding.kind), to_string(kind)) << finding.message;
  EXPECT_EQ(finding.kernel, "kernel");
  EXPECT_EQ(finding.thread, thread) << finding.message;
  EXPECT_EQ(finding.line, line) << finding.message;
  EXPECT_EQ(finding.file, file);
}

}  // namespace sparkbench
