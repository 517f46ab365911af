// Problems in the memory of this machine's GPU: how much they take, and what happens if it is too
// small.
#include "harness/devices/gpu_problem.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/devices/gpu_device.h"
#include "kernels/base/unsupported_error.h"
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

  /// The first kernel that this build has code of for the GPU.
  const Candidate& fused() const {
    for (const auto& each : device_->candidates()) {
      if (each->role() == Role::kFused && each->supports(problem_of(512, 0.0f), Pass::kForward)) {
        return *each;
      }
    }
    throw std::invalid_argument("no fused kernel");
  }

  /// Loads it with a sample of rows to check, and keeps its data.
  std::unique_ptr<LoadedProblem> load(const Problem& problem, Pass pass, InputSpec input = {}) {
    const CheckBudget budget = {device_->check_budget().emulate_flops, 1 << 20};
    gradients_.reset();
    if (pass == Pass::kForward) {
      data_ = std::make_unique<ProblemData>(problem, input, make_check_plan(problem, budget));
    } else {
      GradientPlan plan = make_gradient_plan(problem, budget);
      data_ = std::make_unique<ProblemData>(problem, input, plan.forward());
      gradients_ = std::make_unique<GradientData>(*data_, input, std::move(plan));
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
  for (const std::string& name : {fused().name(), std::string("cublas-fp32")}) {
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
  const Candidate* const candidates[] = {&fused(), &candidate("cublas-fp16")};
  const std::vector<Timing> timings = loaded->time(candidates, options);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples_ms.size(), timings[1].samples_ms.size());
  EXPECT_TRUE(timings[0].is_held);
  EXPECT_TRUE(timings[1].is_held);
}

/// A call of a wrapped candidate, which replaces its forward pass.
struct Call {
  const GpuWork& work;
  const std::function<void()>& forward;  // the pass itself
  int number;                            // of the calls since it was prepared, from 1
};

/// cuBLAS's chain with something in its place.
class Wrapped : public Candidate {
 public:
  Wrapped(const Candidate& inner, std::function<void(const Call&)> instead)
      : Candidate(CandidateInfo{"wrapped", "", CandidateKind::kKernel, Accumulator::kFp32}),
        inner_(inner),
        instead_(std::move(instead)) {}

  Support supports(const Problem& /*problem*/, Pass /*pass*/) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_det) const override {
    return inner_.workspace_bytes(problem, pass, is_det);
  }
  const ArithmeticProfile& arithmetic() const override { return inner_.arithmetic(); }
  Prepared prepare(const GpuWork& work) const override {
    Prepared prepared = inner_.prepare(work);
    prepared.forward = [this, work, forward = prepared.forward, calls = std::make_shared<int>(0)] {
      instead_({work, forward, ++*calls});
    };
    return prepared;
  }

 private:
  const Candidate& inner_;
  std::function<void(const Call&)> instead_;
};

class TimedCheckTest : public GpuProblemTest {
 protected:
  /// Runs and times it on a problem of few kernels' worth of work.
  Timing time(LoadedProblem& loaded, const Candidate& candidate, Pass pass) {
    RunOptions options{.pass = pass, .keeps_outputs = true};
    options.method.max_samples = 20;
    RunOutcome outcome = loaded.run(candidate, options);
    violation_ = outcome.violation;
    outputs_ = std::move(outcome.outputs).value();
    const Candidate* const candidates[] = {&candidate};
    return loaded.time(candidates, options).front();
  }
  Timing time(const std::function<void(const Call&)>& instead) {
    const Wrapped wrapped(candidate("cublas-fp16"), instead);
    return time(*load(problem_of(512, 0.0f), Pass::kForward), wrapped, Pass::kForward);
  }

  std::string violation_;
  PassOutputs outputs_;
};

TEST_F(TimedCheckTest, FindsHonestKernelsRight) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward}) {
    for (const float dropout_p : {0.0f, 0.1f}) {
      Problem problem = problem_of(400, dropout_p);
      problem.heads_k = 2;
      problem.mask = MaskSpec::causal();
      const auto loaded = load(problem, pass);
      for (const auto& each : device_->candidates()) {
        if (!each->supports(problem, pass)) continue;
        const Timing timing = time(*loaded, *each, pass);
        const std::string what = each->name() + fmt::format(" pass {}", static_cast<int>(pass));
        EXPECT_EQ(violation_, "") << what;
        EXPECT_EQ(timing.wrong, 0) << what << ": " << timing.first_wrong;
        const bool has_check = dropout_p == 0.0f || !each->draws_own_dropout_mask();
        EXPECT_EQ(timing.checked.has_value(), has_check) << what;
      }
    }
  }
}

TEST_F(TimedCheckTest, FindsHonestVarlenRight) {
  const std::vector<SequenceLength> lengths = {{70, 70}, {0, 9}, {300, 200}, {1, 64}};
  const Problem problem =
      with_lengths(problem_of(512, 0.0f), std::make_shared<const SequenceLengths>(lengths));
  const auto loaded = load(problem, Pass::kForwardBackward);
  for (const auto& each : device_->candidates()) {
    if (!each->supports(problem, Pass::kForwardBackward)) continue;
    const Timing timing = time(*loaded, *each, Pass::kForwardBackward);
    EXPECT_EQ(timing.wrong, 0) << each->name() << ": " << timing.first_wrong;
    EXPECT_TRUE(timing.checked.has_value());
  }
}

/// O and LSE have the bits of contiguous tensors, and every timed launch is right: with grouped
/// heads, with fewer rows than keys, and in varlen batches with empty sequences.
TEST_F(TimedCheckTest, FindsEachLayoutRight) {
  Problem problem = problem_of(200, 0.0f);
  problem.heads_k = 2;
  problem.mask = MaskSpec::causal();
  Problem rectangular = problem;
  rectangular.seqlen_q = 70;
  const std::vector<SequenceLength> lengths = {{70, 70}, {5, 0}, {0, 9}, {64, 1}, {0, 59}};
  const Problem varlen = with_lengths(problem, std::make_shared<const SequenceLengths>(lengths));
  for (const Problem& each_problem : {problem, rectangular, varlen}) {
    std::map<std::string, PassOutputs> contiguous;
    for (const auto layout : kTensorLayouts) {
      InputSpec input;
      input.layout = layout;
      const auto loaded = load(each_problem, Pass::kForwardBackward, input);
      for (const auto& each : device_->candidates()) {
        if (!each->supports(each_problem, Pass::kForwardBackward)) continue;
        const std::string what = each->name() + " " + std::string(name_of(layout));
        Timing timing;
        try {
          timing = time(*loaded, *each, Pass::kForwardBackward);
        } catch (const UnsupportedError&) {
          continue;  // cuDNN declines gradients of varlen heads before rows
        }
        EXPECT_EQ(violation_, "") << what;
        EXPECT_EQ(timing.wrong, 0) << what << ": " << timing.first_wrong;
        EXPECT_TRUE(timing.checked.has_value()) << what;
        if (layout == TensorLayout::kBshd) contiguous[each->name()] = outputs_;
        EXPECT_TRUE(same_bits(outputs_.o, contiguous[each->name()].o)) << what;
        EXPECT_TRUE(same_bits(outputs_.lse, contiguous[each->name()].lse)) << what;
      }
    }
  }
}

TEST_F(TimedCheckTest, FindsALaunchThatDoesNothing) {
  const Timing timing = time([](const Call& call) {
    if (call.number < 3) call.forward();
  });
  EXPECT_EQ(timing.wrong, timing.checked);
  EXPECT_NE(timing.first_wrong.find("elements of o"), std::string::npos) << timing.first_wrong;
}

TEST_F(TimedCheckTest, FindsAResultThatIsKept) {
  const std::size_t bytes = problem_of(512, 0.0f).q_elements() * sizeof(Half);
  const DeviceBuffer kept(bytes);
  const Timing timing = time([&](const Call& call) {
    void* const o = call.work.forward.o.data;
    if (call.number == 1) {
      call.forward();
      CUDA_CHECK(cudaMemcpyAsync(kept.as<void>(), o, bytes, cudaMemcpyDefault, call.work.stream));
    } else {
      CUDA_CHECK(cudaMemcpyAsync(o, kept.as<void>(), bytes, cudaMemcpyDefault, call.work.stream));
    }
  });
  EXPECT_GT(timing.wrong, *timing.checked / 2);
}

TEST_F(TimedCheckTest, FindsWorkOnAnotherStream) {
  const CudaStream other;
  const Candidate& inner = candidate("cublas-fp32");  // slow enough to be seen at work
  std::optional<Prepared> elsewhere;
  const Timing timing = time([&](const Call& call) {
    if (call.number == 1) {
      GpuWork work = call.work;
      work.stream = other.get();
      elsewhere = inner.prepare(work);
    }
    elsewhere->forward();
    if (call.number < 3) other.synchronize();  // as it is verified
  });
  EXPECT_GT(timing.wrong, *timing.checked / 2);
}

TEST_F(TimedCheckTest, FindsWritesBesideTheOutputs) {
  const auto write = [](void* to, const Call& call) {
    CUDA_CHECK(cudaMemsetAsync(to, 1, 2, call.work.stream));
  };
  time([&](const Call& call) {
    call.forward();
    write(call.work.forward.o.data + problem_of(512, 0.0f).q_elements(), call);
  });
  EXPECT_EQ(violation_, "memory around o");
  time([&](const Call& call) {
    call.forward();
    write(call.work.forward.o.data - 1, call);
  });
  EXPECT_EQ(violation_, "memory around o");
  time([&](const Call& call) {
    call.forward();
    write(const_cast<Bits16*>(call.work.forward.k.data), call);
  });
  EXPECT_EQ(violation_, "its input k");
}

TEST_F(TimedCheckTest, BlamesNoKernelForWhatAnotherOneWrote) {
  const auto loaded = load(problem_of(512, 0.0f), Pass::kForwardBackward);
  const auto break_memory = [](const Call& call) {
    const ForwardTensors& forward = call.work.forward;
    void* const writable[] = {const_cast<Bits16*>(forward.v.data), forward.o.data - 1,
                              forward.lse - 1, call.work.backward.dk.data - 1};
    call.forward();
    for (void* const at : writable) CUDA_CHECK(cudaMemsetAsync(at, 1, 2, call.work.stream));
  };
  const auto expect_right = [&](const char* after) {
    const Timing timing = time(*loaded, candidate("cublas-fp32"), Pass::kForwardBackward);
    EXPECT_EQ(violation_, "") << after;
    EXPECT_EQ(timing.wrong, 0) << after << ": " << timing.first_wrong;
  };
  expect_right("nothing");
  const PassOutputs right = outputs_;
  const RunOptions options{.pass = Pass::kForwardBackward};
  const Wrapped writes(candidate("cublas-fp16"), break_memory);
  EXPECT_EQ(loaded->run(writes, options).violation, "its input v");
  expect_right("writes");
  EXPECT_TRUE(same_bits(outputs_, right));
  const Wrapped fails(candidate("cublas-fp16"), [&](const Call& call) {
    break_memory(call);
    throw std::runtime_error("as told");
  });
  EXPECT_THROW(loaded->run(fails, options), std::runtime_error);
  const Candidate* const candidates[] = {&fails};
  EXPECT_THROW(loaded->time(candidates, options), std::runtime_error);
  expect_right("failures");
  EXPECT_TRUE(same_bits(outputs_, right));
}

TEST_F(GpuProblemTest, SaysWhenMemoryDoesNotSuffice) {
  EXPECT_THROW(DeviceBuffer(std::size_t{1} << 50), OutOfDeviceMemory);
  const DeviceBuffer most(free_device_bytes() - (std::size_t{512} << 20));
  const Problem problem = problem_of(8192, 0.1f);  // 2 GiB of scores
  const auto loaded = load(problem, Pass::kForward);
  EXPECT_THROW(loaded->run(candidate("cublas-fp16"), {}), OutOfDeviceMemory);
  EXPECT_TRUE(loaded->run(fused(), {}).peak_bytes.has_value());
}

TEST_F(GpuProblemTest, TimesKernelsAloneWhereReferencesDoNotFit) {
  const auto loaded = load(problem_of(8192, 0.1f), Pass::kForward);
  const DeviceBuffer most(free_device_bytes() - (std::size_t{512} << 20));
  RunOptions options;
  options.method.max_samples = 5;
  const Candidate* const candidates[] = {&fused(), &candidate("cublas-fp16")};
  EXPECT_EQ(loaded->time(candidates, options).size(), 1u);
}

}  // namespace
}  // namespace sparkbench
