#include "sweeps/memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/mask/pattern/sparse_mask.h"

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

TEST(Memory, OfTensorsIsLinearInTheSequences) {
  const Problem problem = problem_of(10, 20);
  const std::size_t elements = problem.q_elements() + problem.k_elements();
  EXPECT_EQ(tensor_bytes(Pass::kForward, problem), 2 * 2 * elements + 4 * problem.lse_elements());
  EXPECT_EQ(tensor_bytes(Pass::kBackward, problem), 2 * 4 * elements + 4 * problem.lse_elements());
  EXPECT_EQ(tensor_bytes(Pass::kForwardBackward, problem), tensor_bytes(Pass::kBackward, problem));
}

TEST(Memory, OfKeysIsThatOfTheirHeads) {
  Problem problem = problem_of(10, 20);
  problem.heads_k = 1;
  const std::size_t rows_q = 2 * 3 * 10, rows_k = 2 * 1 * 20;
  EXPECT_EQ(tensor_bytes(Pass::kForward, problem), 2 * 2 * 64 * (rows_q + rows_k) + 4 * rows_q);
  EXPECT_EQ(tensor_bytes(Pass::kBackward, problem), 2 * 4 * 64 * (rows_q + rows_k) + 4 * rows_q);
}

TEST(UnfusedMemory, HasTheBitsOfEachUnion) {
  Problem problem = problem_of(10, 70);
  const std::uint64_t without = unfused_workspace_bytes(Pass::kForward, problem, 2);
  problem.sparse = make_sparse_mask("window:3/strided:2", 10, 70);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 2), without + 2u * 10 * 2 * 8);
  EXPECT_EQ(tensor_bytes(Pass::kForward, problem),
            tensor_bytes(Pass::kForward, problem_of(10, 70)));
}

TEST(UnfusedMemory, HasEachHeadsKeyGradientWhereHeadsShareKeys) {
  Problem problem = problem_of(10, 20);
  const std::uint64_t of_heads = unfused_workspace_bytes(Pass::kBackward, problem, 2);
  problem.heads_k = 1;
  EXPECT_EQ(unfused_workspace_bytes(Pass::kBackward, problem, 2), of_heads + 2u * 3 * 20 * 64 * 4);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 2), 2u * 3 * 10 * 48);
}

TEST(UnfusedMemory, HasTheScoresWithPaddedRows) {
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem_of(10, 20), 2),
            2u * 3 * 10 * 48);  // 20 halves are 40 bytes, padded to 48
}

TEST(UnfusedMemory, OfFp32AddsWidenedTensors) {
  const Problem problem = problem_of(10, 20);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 4),
            2u * 3 * 10 * 80 + 2 * 4 * (problem.q_elements() + problem.k_elements()));
}

TEST(UnfusedMemory, OfTheBackwardPassHasPsGradient) {
  const Problem problem = problem_of(10, 20);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kBackward, problem, 2), 2u * 2 * 3 * 10 * 48);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kBackward, problem, 4),
            2u * 2 * 3 * 10 * 80 + 4 * 4 * (problem.q_elements() + problem.k_elements()));
}

TEST(UnfusedMemory, HasPTwiceWhereValuesAreDropped) {
  Problem problem = problem_of(10, 20);
  problem.dropout_p = 0.1f;
  EXPECT_EQ(unfused_workspace_bytes(Pass::kBackward, problem, 2), 3u * 2 * 3 * 10 * 48);
}

TEST(UnfusedMemory, DoesNotWrapBeyond32Bits) {
  Problem problem = problem_of(16384, 16384);
  problem.batch = 1;
  problem.heads = 32;
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 2), 2ull * 32 * 16384 * 16384);
}

TEST(UnfusedMemory, OfPackedSequencesIsPaddedNowhere) {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{10, 20}, {5, 0}, {0, 5}, {1, 1000}});
  const Problem problem = with_lengths(problem_of(1, 1), lengths);
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 2), 3u * (10 * 48 + 2000));
  EXPECT_EQ(tensor_bytes(Pass::kForward, problem),
            2u * 2 * (problem.q_elements() + problem.k_elements()) + 3u * 16 * 4 + 2u * 5 * 4);
}

TEST(Memory, SaturatesBeyond64Bits) {
  Problem problem = problem_of(1 << 24, 1 << 24);
  problem.batch = problem.heads = 1 << 24;
  EXPECT_EQ(tensor_bytes(Pass::kForward, problem), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(unfused_workspace_bytes(Pass::kForward, problem, 2),
            std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace sparkbench
