#include "sweeps/memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/volta/backward_workspace.h"

namespace sparkbench {
namespace {

Problem problem_of(int seqlen_q, int seqlen_k) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  problem.head_dim = 64;
  return problem;
}

TEST(Memory, OfAFusedKernelIsItsTensors) {
  const Problem problem = problem_of(10, 20);
  const MemoryPrediction memory = predict_fused_memory(Pass::kForward, problem, false);
  EXPECT_EQ(memory.io_bytes,
            2 * 2 * (problem.q_elements() + problem.k_elements()) + 4 * problem.lse_elements());
  EXPECT_EQ(memory.workspace_bytes, 0u);
  EXPECT_EQ(memory.peak_bytes(), memory.io_bytes);
}

TEST(Memory, OfTheUnfusedComputationAddsTheScoresWithPaddedRows) {
  const MemoryPrediction memory = predict_unfused_memory(Pass::kForward, problem_of(10, 20), 2);
  EXPECT_EQ(memory.workspace_bytes, 2u * 3 * 10 * 48);  // 20 halves are 40 bytes, padded to 48
  EXPECT_EQ(memory.peak_bytes(), memory.io_bytes + memory.workspace_bytes);
}

TEST(Memory, OfTheUnfusedComputationInFp32AddsWidenedTensors) {
  const Problem problem = problem_of(10, 20);
  EXPECT_EQ(predict_unfused_memory(Pass::kForward, problem, 4).workspace_bytes,
            2u * 3 * 10 * 80 + 2 * 4 * (problem.q_elements() + problem.k_elements()));
}

TEST(Memory, OfAFusedBackwardPassHasTheWorkspaceThatTheKernelAsksFor) {
  for (const int seqlen_q : {10, 64, 1000}) {
    const Problem problem = problem_of(seqlen_q, 20);
    for (const bool is_deterministic : {false, true}) {
      for (const Pass pass : {Pass::kBackward, Pass::kForwardBackward}) {
        const MemoryPrediction memory = predict_fused_memory(pass, problem, is_deterministic);
        EXPECT_EQ(memory.workspace_bytes,
                  volta::backward_workspace_bytes(problem, is_deterministic));
        EXPECT_EQ(memory.io_bytes, 2 * 4 * (problem.q_elements() + problem.k_elements()) +
                                       4 * problem.lse_elements());
      }
    }
  }
}

TEST(Memory, OfTheUnfusedBackwardPassHasPAndItsGradient) {
  const Problem problem = problem_of(10, 20);
  EXPECT_EQ(predict_unfused_memory(Pass::kBackward, problem, 2).workspace_bytes,
            2u * 2 * 3 * 10 * 48);
  EXPECT_EQ(predict_unfused_memory(Pass::kBackward, problem, 4).workspace_bytes,
            2u * 2 * 3 * 10 * 80 + 4 * 4 * (problem.q_elements() + problem.k_elements()));
}

TEST(Memory, OfTheUnfusedBackwardPassHasPTwiceWhereValuesAreDropped) {
  Problem problem = problem_of(10, 20);
  problem.dropout_p = 0.1f;
  EXPECT_EQ(predict_unfused_memory(Pass::kBackward, problem, 2).workspace_bytes,
            3u * 2 * 3 * 10 * 48);
}

TEST(Memory, DoesNotWrapBeyond32Bits) {
  Problem problem = problem_of(16384, 16384);
  problem.batch = 1;
  problem.heads = 32;
  EXPECT_EQ(predict_unfused_memory(Pass::kForward, problem, 2).workspace_bytes,
            2ull * 32 * 16384 * 16384);
}

TEST(Memory, SaturatesBeyond64Bits) {
  Problem problem = problem_of(1 << 24, 1 << 24);
  problem.batch = problem.heads = 1 << 24;
  EXPECT_EQ(predict_fused_memory(Pass::kForward, problem, false).io_bytes,
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(predict_unfused_memory(Pass::kForward, problem, 2).peak_bytes(),
            std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace sparkbench
