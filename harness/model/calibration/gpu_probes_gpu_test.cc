// The probes on the GPU of this machine, whatever it is: what must hold of every one.
#include "harness/model/calibration/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"

namespace sparkbench {
namespace {

class GpuProbes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (gpu_count() == 0) return;
    const DeviceInfo info = open_gpu(0)->info();
    sm_ = *info.sm;
    readings_ = read_probes(*info.sm, *info.sm_count);
  }
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
  }

  static CalibrationReadings readings_;
  static int sm_;
};
CalibrationReadings GpuProbes::readings_;
int GpuProbes::sm_ = 0;

TEST_F(GpuProbes, CanBeEvaluated) {
  const CalibrationFindings findings = evaluate(readings_, sm_);
  EXPECT_EQ(findings.fits.has_value(), sm_ == 70);
  EXPECT_GT(readings_.clock_mhz, 200);
  EXPECT_LT(readings_.clock_mhz, 4000);
}

TEST_F(GpuProbes, TakeACycleOrMoreAProduct) {
  ASSERT_EQ(readings_.products.size(), 4u);
  for (const ProductReading& reading : readings_.products) {
    EXPECT_GE(reading.cycles.min, sm_ == 70 ? 8 : 1);
    EXPECT_LT(reading.cycles.max, 40);
  }
}

TEST_F(GpuProbes, CostNoLessWithFreshOperands) {
  for (const Spread& cycles : evaluate(readings_, sm_).no_reuse_cycles) {
    EXPECT_GE(cycles.median, -0.05);
  }
}

TEST_F(GpuProbes, IssueAtMostAnInstructionAClock) {
  for (const CodeReading& reading : readings_.code) {
    EXPECT_GT(reading.instructions_per_clock.min, 0.01);
    EXPECT_LE(reading.instructions_per_clock.max, 1.001);
  }
}

TEST_F(GpuProbes, GetNoMoreCodeBeyondTheCaches) {
  const CalibrationFindings findings = evaluate(readings_, sm_);
  std::map<CodeSharing, double> slowest;
  for (const CodeReading& reading : readings_.code) {
    const CodeSupply& supply = findings.supply[static_cast<int>(reading.sharing)];
    if (reading.code_bytes <= supply.full_rate_bytes) continue;
    const double rate = reading.instructions_per_clock.median;
    double& before = slowest.emplace(reading.sharing, rate).first->second;
    EXPECT_LE(rate, 1.05 * before)
        << name_of(reading.sharing) << ", " << reading.code_bytes << " bytes";
    before = std::min(before, rate);
  }
}

}  // namespace
}  // namespace sparkbench
