// Shifted scores (test_shifted_scores.h) on a GPU: every kernel that it runs, dense, with patterns
// and varlen, at every length up to 130 and around tiles. Long sequences take the kernel that sums
// dQ in memory.
#include <gtest/gtest.h>

#include <string_view>
#include <thread>
#include <vector>

#include "kernels/hopper/test_gpu.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_packed_gpu.h"
#include "kernels/testing/test_shifted_scores.h"
#include "kernels/testing/test_sparse_gpu.h"

namespace sparkbench {
namespace {

Passes run_packed(const AttentionKernel& kernel, const PackedCase& made, bool is_deterministic) {
  const OnGpu gpu(made);
  const PackedRows rows = run_forward(kernel, made, gpu);
  const PackedGradients gradients = run_backward(kernel, made, gpu, rows, is_deterministic);
  return {rows.o, gradients.dq, gradients.dk, gradients.dv, rows.lse};
}

class ShiftedScoresGpu : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    if (kernel().instruction == MmaInstruction::kWgmma && !has_native(MmaInstruction::kWgmma)) {
      GTEST_SKIP() << "no CUDA device with wgmma";
    }
    ASSERT_TRUE(kernel().has_gpu_code) << "this build has no code for the GPU";
  }
  const AttentionKernel& kernel() const { return *find_attention_kernel(GetParam()); }

  /// FP16 sums hold a score of 8000 to within 4: there the demand is that results are finite.
  void expect_exact(const Problem& problem, bool is_deterministic,
                    ScoreKind kind = ScoreKind::kNormal) const {
    const ShiftedCase made(problem, kind);
    const double tolerance = kernel().accumulator == Accumulator::kFp32 ? 0x1p-6 : 1e9;
    if (problem.lengths) {
      made.expect_exact(run_packed(kernel(), made.packed(), is_deterministic), tolerance);
    } else {
      made.expect_exact(run_on_gpu(made.run(kernel().name), is_deterministic), tolerance);
    }
  }
};

TEST_P(ShiftedScoresGpu, DoNotMatterAtAnyLength) {
  for (const int head_dim : {64, 128}) {
    for (const int length : lengths_around_tiles()) {
      SCOPED_TRACE(testing::Message() << head_dim << ", " << length);
      const bool is_odd = length % 2 == 1;
      expect_exact(shifted_problem(head_dim, length, length, MaskSpec::full(), 2), is_odd);
      expect_exact(shifted_problem(head_dim, length, length, mask_of_length(length), 2), !is_odd);
      expect_exact(shifted_problem(head_dim, length / 2 + 1, length, mask_of_length(length + 1), 1),
                   is_odd);
      expect_exact(with_pattern(shifted_problem(head_dim, length, length, {}, 1 + length % 2),
                                pattern_of_length(length)),
                   !is_odd);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ShiftedScoresGpu, DoNotMatterInLongSequences) {
  for (const int head_dim : {64, 96, 128, 256}) {
    for (const int length : {1537, 2047}) {
      if (head_dim > 128 && kernel().instruction != MmaInstruction::kWgmma) continue;
      SCOPED_TRACE(testing::Message() << head_dim << ", " << length);
      expect_exact(shifted_problem(head_dim, length, length, MaskSpec::full(), 1), false);
    }
  }
}

TEST_P(ShiftedScoresGpu, DoNotMatterInPackedSequences) {
  for (const int head_dim : {64, 128}) {
    expect_exact(packed_shifted_problem(head_dim, MaskSpec::full(), lengths_around_tiles()), false);
    expect_exact(packed_shifted_problem(head_dim, MaskSpec::band(20, 30), lengths_around_tiles()),
                 true);
    expect_exact(packed_shifted_problem(head_dim, MaskSpec::full(), {1999, 2000, 2001, 1807, 2048}),
                 false);
  }
}

TEST_P(ShiftedScoresGpu, MayBeAlikeOrHugeOrHaveOneWinner) {
  for (const ScoreKind kind : {ScoreKind::kAlike, ScoreKind::kHuge, ScoreKind::kOneWins}) {
    for (const int length : {1, 63, 64, 100, 130, 400}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << ", " << length);
      expect_exact(shifted_problem(64, length, length, MaskSpec::full(), 1), false, kind);
      expect_exact(shifted_problem(128, length, length, MaskSpec::causal(), 2), true, kind);
    }
  }
}

/// A thread that has called nothing of CUDA has no current context, as autograd's has none.
TEST_P(ShiftedScoresGpu, RunInAThreadsFirstCudaWork) {
  const Problem problem = shifted_problem(64, 200, 200, MaskSpec::full(), 1);
  const ShiftedCase made(problem, ScoreKind::kNormal);
  const PatternRun run = made.run(kernel().name);
  const DeviceBuffer q = upload(run.inputs().q), k = upload(run.inputs().k),
                     v = upload(run.inputs().v), d_o = upload(run.d_o()),
                     o(problem.q_elements() * sizeof(Half)),
                     lse(problem.lse_elements() * sizeof(float)),
                     dq(problem.q_elements() * sizeof(Half)),
                     dk(problem.k_elements() * sizeof(Half)),
                     dv(problem.k_elements() * sizeof(Half));
  const auto in_a_thread = [](auto work) {
    std::thread([&] { EXPECT_NO_THROW(work()); }).join();
    CUDA_CHECK(cudaDeviceSynchronize());
  };
  in_a_thread([&] {
    const ForwardTensors tensors = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                      v.as<Half>(), o.as<Half>(), lse.as<float>());
    run_on_stream(plan_on_gpu(kernel(), forward_request(problem, tensors), nullptr), nullptr);
  });
  for (const bool is_deterministic : {false, true}) {
    const DeviceBuffer workspace(
        workspace_bytes(kernel(), problem, Pass::kForwardBackward, is_deterministic));
    in_a_thread([&] {
      const BackwardTensors tensors = contiguous_tensors(
          problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
          lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
      run_on_stream(plan_on_gpu(kernel(), backward_request(problem, tensors, is_deterministic),
                                workspace.as<void>()),
                    nullptr);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ShiftedScoresGpu,
                         testing::Values("volta-fp32acc", "volta-fp16acc", "hopper-fp32acc"));

}  // namespace
}  // namespace sparkbench
