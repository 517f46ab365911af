#include "harness/run/case_runner.h"
#include "harness/model/predictor.h"

#include <gtest/gtest.h>

#include <utility>

#include "harness/devices/emulated_device.h"
#include "harness/model/predict/test_cycles.h"
#include "kernels/machine/out_of_device_memory.h"
#include "results/record/record_fields.h"

namespace sparkbench {
namespace {

/// Scripted behaviour of a device, and a log of its calls.
struct Script {
  std::vector<std::string> log;
  double kernel_ms = 1.0, reference_ms = 4.0;
  bool times_in_turns = true;
  std::string runs_out_of_memory;  // the candidate that does
};

/// Computes like an emulated device, with scripted times.
class ScriptedProblem : public LoadedProblem {
 public:
  ScriptedProblem(std::unique_ptr<LoadedProblem> emulated, Script& script)
      : emulated_(std::move(emulated)), script_(script) {}

  RunOutcome run(const Candidate& candidate, const RunOptions& options) override {
    script_.log.emplace_back("run ").append(candidate.name());
    if (candidate.name() == script_.runs_out_of_memory) throw OutOfDeviceMemory("cudaMalloc");
    RunOutcome outcome = emulated_->run(candidate, options);
    outcome.emulation.reset();
    outcome.peak_bytes = 1000;
    return outcome;
  }

  std::vector<Timing> time(std::span<const Candidate* const> candidates,
                           const RunOptions& options) override {
    std::vector<Timing> timings;
    script_.log.emplace_back("time");
    for (const Candidate* candidate : candidates) {
      script_.log.back().append(" ").append(candidate->name());
      const bool is_reference = candidate->role() == Role::kReference;
      // Interleaved with another, each takes a tenth longer than by itself.
      const double ms = (is_reference ? script_.reference_ms : script_.kernel_ms) *
                        (candidates.size() > 1 ? 1.1 : 1.0);
      timings.push_back({std::vector<double>(3, ms), {{}, {}, {}}, "noise", true, 0.001});
      EXPECT_TRUE(is_timed(options.method));
      if (!script_.times_in_turns) break;
    }
    return timings;
  }

 private:
  std::unique_ptr<LoadedProblem> emulated_;
  Script& script_;
};

class ScriptedDevice : public Device {
 public:
  explicit ScriptedDevice(Script& script)
      : emulated_(open_emulated_device("emulated-v100")), script_(script) {
    info_ = emulated_->info();
    info_.kind = DeviceKind::kGpu;
    info_.memory_bytes = std::uint64_t{16} << 30;
    info_.memory_available_bytes = std::uint64_t{15} << 30;
  }

  const std::string& name() const override { return emulated_->name(); }
  const DeviceInfo& info() const override { return info_; }
  Candidates candidates() const override { return emulated_->candidates(); }
  CheckBudget check_budget() const override { return emulated_->check_budget(); }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) override {
    return std::make_unique<ScriptedProblem>(emulated_->load(data, gradients), script_);
  }

 private:
  std::unique_ptr<Device> emulated_;
  Script& script_;
  DeviceInfo info_;
};

SweepCase case_of(const std::string& kernel, int seqlen = 64, int heads = 1) {
  Problem problem;
  problem.heads = heads;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  return {kernel, {Pass::kForward, problem}};
}

class CaseRunnerTest : public testing::Test {
 protected:
  CaseRecord run(const std::string& kernel) { return runner_.run(case_of(kernel)); }

  Script script_;
  ScriptedDevice device_{script_};
  CaseRunner runner_{device_, {}};
};

using Log = std::vector<std::string>;

TEST_F(CaseRunnerTest, VerifiesAKernelThenTimesItByTurns) {
  EXPECT_EQ(run("unfused-fp16").status, Status::kOk);
  const CaseRecord record = run("volta-fp32acc");
  EXPECT_EQ(script_.log, Log({"run unfused-fp16", "time unfused-fp16", "run volta-fp32acc",
                              "time volta-fp32acc unfused-fp16"}));
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_DOUBLE_EQ(record.time_ms.value().median, 1.1);
  EXPECT_EQ(record.speedup.value().over, "unfused-fp16");
  EXPECT_DOUBLE_EQ(record.speedup->ratio, 4.0);
  EXPECT_DOUBLE_EQ(record.speedup->over_median_ms.value(), 4.4);
  EXPECT_TRUE(record.speedup->interleaved);
}

TEST_F(CaseRunnerTest, PredictsARealV100BesideItsTime) {
  const CyclesFile cycles = test_cycles();
  RunSettings settings;
  const Predictor predictor(cycles);
  settings.predictor = &predictor;
  CaseRunner runner(device_, settings);
  const CaseRecord record = runner.run(case_of("volta-fp32acc"));
  EXPECT_TRUE(record.time_ms.has_value());
  EXPECT_GT(record.predicted.value().time_ms.likely, 0);
  EXPECT_EQ(record.predicted->speedup.value().over, "cublas-fp16");
  EXPECT_EQ(runner.run(case_of("volta-fp16acc")).predicted_reason.value().code, "P-NO-CYCLES");
}

TEST_F(CaseRunnerTest, ClaimsNoSpeedupWhenBothDoNotFit) {
  script_.times_in_turns = false;
  run("unfused-fp16");
  const CaseRecord record = run("volta-fp32acc");
  EXPECT_TRUE(record.time_ms.has_value());
  EXPECT_FALSE(record.speedup.has_value());
}

TEST_F(CaseRunnerTest, TimesAKernelAloneWithoutItsReference) {
  EXPECT_FALSE(run("volta-fp32acc").speedup.has_value());
  EXPECT_EQ(script_.log, Log({"run volta-fp32acc", "time volta-fp32acc"}));
  run("unfused-fp16");
  EXPECT_FALSE(runner_.run(case_of("volta-fp32acc", 65)).speedup.has_value());
  EXPECT_EQ(script_.log.back(), "time volta-fp32acc");
}

TEST_F(CaseRunnerTest, ClaimsNoSpeedupForAnImpossibleTime) {
  run("unfused-fp16");
  script_.kernel_ms = 1e-4;
  const CaseRecord record = run("volta-fp32acc");
  EXPECT_FALSE(record.valid);
  EXPECT_FALSE(record.speedup.has_value());
  EXPECT_FALSE(record.tflops.has_value());
}

TEST_F(CaseRunnerTest, GoesOnAfterRunningOutOfMemory) {
  script_.runs_out_of_memory = "unfused-fp16";
  const CaseRecord failed = run("unfused-fp16");
  EXPECT_EQ(failed.status, Status::kFailed);
  EXPECT_EQ(failed.reason.value().code, "E-OUT-OF-MEMORY");
  EXPECT_EQ(failed.reason->message, "cudaMalloc");
  EXPECT_FALSE(failed.time_ms.has_value());
  const CaseRecord next = run("volta-fp32acc");
  EXPECT_EQ(next.status, Status::kOk);
  EXPECT_TRUE(next.time_ms.has_value());
}

TEST_F(CaseRunnerTest, SkipsWhatIsPredictedNotToFit) {
  const CaseRecord skipped = runner_.run(case_of("unfused-fp16", 16384, 31));  // 15.5 GiB of scores
  EXPECT_EQ(skipped.status, Status::kSkipped);
  EXPECT_EQ(skipped.reason.value().code, "E-OOM-PREDICTED");
  EXPECT_GT(skipped.memory_bytes.value().predicted, std::uint64_t{15} << 30);
  EXPECT_EQ(script_.log, Log());
}

TEST_F(CaseRunnerTest, SetsQuadraticUnfusedMemoryBesideTheKernels) {
  const auto memory = [this](int seqlen) {
    return runner_.run(case_of("volta-fp32acc", seqlen, 1)).memory_bytes.value();
  };
  const MemoryBytes shorter = memory(64), longer = memory(128);
  EXPECT_EQ(longer.predicted, 2 * shorter.predicted);
  EXPECT_EQ(longer.unfused.value() - longer.io, 4 * (shorter.unfused.value() - shorter.io));
  EXPECT_EQ(longer.peak, 1000u);
}

TEST_F(CaseRunnerTest, TimesNothingUnlessItIsAskedTo) {
  RunSettings settings;
  leave_untimed(settings.method);
  CaseRunner untimed(device_, settings);
  EXPECT_FALSE(untimed.run(case_of("volta-fp32acc")).time_ms.has_value());
  EXPECT_EQ(script_.log, Log({"run volta-fp32acc"}));
}

}  // namespace
}  // namespace sparkbench
