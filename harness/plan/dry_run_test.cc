#include "harness/plan/dry_run.h"

#include <gtest/gtest.h>

#include "harness/devices/emulated_device.h"
#include "results/record/record_fields.h"

namespace sparkbench {
namespace {

CaseRecord case_of(std::uint64_t flops) {
  CaseRecord record;
  record.flops = flops;
  return record;
}

/// A GPU of 100 TFLOP/s whose results are not checked. Runs nothing.
class FastGpu : public Device {
 public:
  FastGpu() {
    info_.kind = DeviceKind::kGpu;
    info_.peak_tflops = 100;
    info_.peak_gbps = 1000;
  }
  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  Candidates candidates() const override { return {}; }
  CheckBudget check_budget() const override { return {}; }
  std::unique_ptr<LoadedProblem> load(const ProblemData&, GradientData*) override {
    return nullptr;
  }

 private:
  std::string name_ = "cuda:0";
  DeviceInfo info_;
};

TEST(CaseCost, OfAGpuIsItsSamplesAndRests) {
  FastGpu gpu;
  const Workloads workloads(gpu, {});
  Method method;
  method.min_samples = 100;
  const auto sampling = [&](double milliseconds, double duty_cycle) {
    const auto flops = static_cast<std::uint64_t>(milliseconds * 1e-3 * 100e12 / 3);
    method.duty_cycle = duty_cycle;
    Method untimed;
    leave_untimed(untimed);
    return CaseCost(gpu, workloads, method, {}).seconds(case_of(flops)) -
           CaseCost(gpu, workloads, untimed, {}).seconds(case_of(flops)) - *method.warmup_ms * 1e-3;
  };
  EXPECT_NEAR(sampling(10, 1), 1.0, 1e-6);
  EXPECT_NEAR(sampling(10, 0.25), 4.0, 1e-6);
  EXPECT_NEAR(sampling(1e-3, 1), *method.min_seconds, 1e-6);
  EXPECT_NEAR(sampling(1000, 1), *method.max_seconds, 1e-6);
}

/// Two heads of head_dim 64.
CaseRecord case_of_length(int seqlen, Pass pass = Pass::kForward) {
  Problem problem{.heads = 2, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64};
  CaseRecord record;
  record.problem = CaseProblem(pass, problem);
  const auto length = static_cast<std::uint64_t>(seqlen);
  record.flops = 2 * 4 * 64 * length * length;
  record.bytes = 4 * 2 * 2 * 64 * length;
  return record;
}

TEST(CaseCost, GrowsUpToWhatTheDeviceEmulates) {
  const auto device = open_emulated_device("emulated-v100");
  const Workloads workloads(*device, {});
  const CaseCost cost(*device, workloads, {}, {});
  EXPECT_FALSE(cost.is_corrected());
  EXPECT_LT(cost.seconds(case_of(1 << 20)), cost.seconds(case_of(1 << 28)));
  // All of it would take 9 minutes.
  EXPECT_LT(cost.seconds(case_of_length(1 << 15)), 60.0);
}

/// The smallest sample has whole rows, and inputs are generated whole.
TEST(CaseCost, GrowsWithTheRowsThatAreAlwaysSampled) {
  const auto device = open_emulated_device("emulated-v100");
  const Workloads workloads(*device, {});
  const CaseCost cost(*device, workloads, {}, {});
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    EXPECT_GT(cost.seconds(case_of_length(1 << 20, pass)),
              2 * cost.seconds(case_of_length(1 << 18, pass)));
  }
  EXPECT_GT(cost.seconds(case_of_length(1 << 22)), 60.0);
}

TEST(CaseCost, IsNothingForASkippedCase) {
  const auto device = open_emulated_device("emulated-v100");
  const Workloads workloads(*device, {});
  CaseRecord skipped = case_of(1 << 28);
  skipped.status = Status::kSkipped;
  EXPECT_EQ(CaseCost(*device, workloads, {}, {}).seconds(skipped), 0.0);
}

TEST(CaseCost, IsCorrectedByWhatCasesTook) {
  const auto device = open_emulated_device("emulated-v100");
  const Workloads workloads(*device, {});
  CaseRecord measured = case_of(1 << 28);
  measured.elapsed_s = 3.0;
  CaseRecord failed = measured;
  failed.status = Status::kFailed;
  failed.elapsed_s = 600.0;
  const CaseCost cost(*device, workloads, {}, {measured, failed});
  EXPECT_TRUE(cost.is_corrected());
  EXPECT_NEAR(cost.seconds(measured), 3.0, 1e-9);
}

}  // namespace
}  // namespace sparkbench
