#include "harness/devices/machine_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/devices/emulated_device.h"

namespace sparkbench {
namespace {

using Level = MachineFinding::Level;

BuildInfo good_build() {
  BuildInfo build;
  build.build_type = "Release";
  build.git_sha = "abc";
  build.git_dirty = false;
  return build;
}

MachineState good_state() {
  return {.load_1min = 0.1, .processors = 4, .available_bytes = std::uint64_t{8} << 30};
}

Level worst(const BuildInfo& build, const MachineState& state) {
  const auto device = open_emulated_device("emulated-v100");
  Level level = Level::kGood;
  for (const MachineFinding& finding : check_machine(*device, build, state)) {
    EXPECT_FALSE(finding.what.empty());
    level = std::max(level, finding.level);
  }
  return level;
}

TEST(MachineCheck, FindsNothingOnAnIdleMachine) {
  EXPECT_EQ(worst(good_build(), good_state()), Level::kGood);
}

TEST(MachineCheck, DoubtsABusyMachineAndModifiedSources) {
  MachineState busy = good_state();
  busy.load_1min = 3.5;
  EXPECT_EQ(worst(good_build(), busy), Level::kDoubtful);
  BuildInfo dirty = good_build();
  dirty.git_dirty = true;
  EXPECT_EQ(worst(dirty, good_state()), Level::kDoubtful);
}

TEST(MachineCheck, RefusesADebugBuildAndTooLittleMemory) {
  BuildInfo debug = good_build();
  debug.build_type = "Debug";
  EXPECT_EQ(worst(debug, good_state()), Level::kUnfit);
  MachineState small = good_state();
  small.available_bytes = 1 << 20;
  EXPECT_EQ(worst(good_build(), small), Level::kUnfit);
}

TEST(MachineCheck, ReadsTheStateOfThisMachine) {
  const MachineState state = read_machine_state();
  EXPECT_GE(state.processors, 1);
  EXPECT_GT(state.available_bytes, 0u);
  EXPECT_GE(state.load_1min, 0.0);
}

}  // namespace
}  // namespace sparkbench
