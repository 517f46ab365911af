// Problems in the memory of this machine's GPU: how much they take, and what happens if it is too
// small.
#include "harness/devices/gpu_problem.h"

#include <gtest/gtest.h>

#include <memory>

#include "harness/devices/gpu_device.h"
#include "kernels/machine/cuda_resources.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

/// The driver's rounding for a handful of allocations.
constexpr std::uint64_t kSlackBytes = 10 * (std::uint64_t{2} << 20);

Problem problem_of(int seqlen, float dropout_p) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 8;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  problem.dropout_p = dropout_p;
  return problem;
}

class GpuProblemTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
    device_ = open_gpu(0);
  }

  const Candidate& candidate(std::string_view name) const {
    for (const auto& each : device_->candidates()) {
      if (each->name() == name) return *each;
    }
    throw std::invalid_argument("no such candidate");
  }

  /// Loads it with a sample of rows to check, and keeps its data.
  std::unique_ptr<LoadedProblem> load(const Problem& problem, Pass pass) {
    const CheckBudget budget = {device_->check_budget().emulate_flops, 1 << 20};
    gradients_.reset();
    if (pass == Pass::kForward) {
      data_ = std::make_unique<ProblemData>(problem, InputSpec(), make_check_plan(problem, budget));
    } else {
      GradientPlan plan = make_gradient_plan(problem, budget);
      data_ = std::make_unique<ProblemData>(problem, InputSpec(), plan.forward());
      gradients_ = std::make_unique<GradientData>(*data_, InputSpec(), std::move(plan));
    }
    return device_->load(*data_, gradients_.get());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<GradientData> gradients_;
};

TEST_F(GpuProblemTest, TakesTheMemoryThatWasPredicted) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const int seqlen : {512, 1024, 2048}) {
      const Problem problem = problem_of(seqlen, 0.1f);
      const RunOutcome outcome = load(problem, pass)->run(candidate("cublas-fp16"), {.pass = pass});
      const std::uint64_t io = tensor_bytes(pass, problem);
      const std::uint64_t workspace =
          candidate("cublas-fp16").workspace_bytes(problem, pass, false);
      EXPECT_GE(outcome.workspace_bytes, workspace);
      EXPECT_LT(outcome.workspace_bytes, workspace + 4096);
      EXPECT_GE(outcome.peak_bytes.value(), io + workspace);
      EXPECT_LT(outcome.peak_bytes.value(), io + workspace + kSlackBytes);
    }
  }
}

TEST_F(GpuProblemTest, TakesTheSameMemoryEachTime) {
  for (const char* name : {"volta-fp32acc", "cublas-fp32"}) {
    const Problem problem = problem_of(512, 0.0f);
    const auto first = load(problem, Pass::kForward)->run(candidate(name), {}).peak_bytes;
    const auto second = load(problem, Pass::kForward)->run(candidate(name), {}).peak_bytes;
    EXPECT_EQ(first.value(), second.value()) << name;
  }
}

TEST_F(GpuProblemTest, TimesCandidatesInTurns) {
  const auto loaded = load(problem_of(512, 0.1f), Pass::kForward);
  RunOptions options;
  options.method.max_samples = 20;
  const Candidate* const candidates[] = {&candidate("volta-fp32acc"), &candidate("cublas-fp16")};
  const std::vector<Timing> timings = loaded->time(candidates, options);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples_ms.size(), timings[1].samples_ms.size());
  EXPECT_TRUE(timings[0].is_held);
  EXPECT_TRUE(timings[1].is_held);
}

TEST_F(GpuProblemTest, SaysWhenMemoryDoesNotSuffice) {
  EXPECT_THROW(DeviceBuffer(std::size_t{1} << 50), OutOfDeviceMemory);
  const DeviceBuffer most(free_device_bytes() - (std::size_t{512} << 20));
  const Problem problem = problem_of(8192, 0.1f);  // 2 GiB of scores
  const auto loaded = load(problem, Pass::kForward);
  EXPECT_THROW(loaded->run(candidate("cublas-fp16"), {}), OutOfDeviceMemory);
  EXPECT_TRUE(loaded->run(candidate("volta-fp32acc"), {}).peak_bytes.has_value());
}

TEST_F(GpuProblemTest, TimesKernelsAloneWhereReferencesDoNotFit) {
  const auto loaded = load(problem_of(8192, 0.1f), Pass::kForward);
  const DeviceBuffer most(free_device_bytes() - (std::size_t{512} << 20));
  RunOptions options;
  options.method.max_samples = 5;
  const Candidate* const candidates[] = {&candidate("volta-fp32acc"), &candidate("cublas-fp16")};
  EXPECT_EQ(loaded->time(candidates, options).size(), 1u);
}

}  // namespace
}  // namespace sparkbench
