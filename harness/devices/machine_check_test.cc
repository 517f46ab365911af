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

/// A GPU with given NVML readings and no candidates.
class DescribedGpu : public Device {
 public:
  DescribedGpu() {
    info_.kind = DeviceKind::kGpu;
    info_.peak_tflops = 989;
    info_.persistence_mode = true;
    info_.state = DeviceState{40, 100, {{"gpu_idle"}}};
  }
  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  Candidates candidates() const override { return {}; }
  CheckBudget check_budget() const override { return {}; }
  std::unique_ptr<LoadedProblem> load(const ProblemData& /*data*/,
                                      GradientData* /*gradients*/) override {
    return nullptr;
  }

  DeviceInfo info_;

 private:
  std::string name_ = "cuda:0";
};

std::string doubts_of(const Device& device) {
  std::string doubts;
  for (const MachineFinding& finding : check_machine(device, good_build(), good_state())) {
    if (finding.level == Level::kDoubtful) doubts += finding.what + "\n";
  }
  return doubts;
}

TEST(MachineCheck, DoubtsACardThatIsHeldBack) {
  DescribedGpu device;
  EXPECT_EQ(doubts_of(device), "");
  device.info_.persistence_mode = false;
  device.info_.state->throttle_reasons = {{"sw_power_cap", "hw_thermal_slowdown"}};
  const std::string doubts = doubts_of(device);
  EXPECT_NE(doubts.find("persistence mode is off"), std::string::npos) << doubts;
  EXPECT_NE(doubts.find("held back now: hw_thermal_slowdown"), std::string::npos) << doubts;
  EXPECT_EQ(doubts.find("sw_power_cap"), std::string::npos) << doubts;
  device.info_.persistence_mode.reset();  // without NVML there is no finding
  device.info_.state.reset();
  EXPECT_EQ(doubts_of(device), "");
}

TEST(MachineCheck, ReadsTheStateOfThisMachine) {
  const MachineState state = read_machine_state();
  EXPECT_GE(state.processors, 1);
  EXPECT_GT(state.available_bytes, 0u);
  EXPECT_GE(state.load_1min, 0.0);
}

}  // namespace
}  // namespace sparkbench
