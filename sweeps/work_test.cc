#include "sweeps/work.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

Problem problem_of(int seqlen_q, int seqlen_k, bool causal) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  problem.head_dim = 64;
  problem.causal = causal;
  return problem;
}

TEST(VisiblePairs, EqualsTheSumOfVisibleKeysOverRows) {
  for (const int seqlen_q : {1, 2, 7, 64, 65}) {
    for (const int seqlen_k : {1, 3, 7, 64, 100}) {
      for (const bool causal : {false, true}) {
        std::uint64_t pairs = 0;
        for (int row = 0; row < seqlen_q; ++row) {
          pairs += static_cast<std::uint64_t>(visible_keys(row, seqlen_q, seqlen_k, causal));
        }
        EXPECT_EQ(visible_pairs(seqlen_q, seqlen_k, causal), pairs)
            << seqlen_q << " x " << seqlen_k << (causal ? " causal" : "");
      }
    }
  }
}

TEST(Flops, CountsTwoMatrixProducts) {
  EXPECT_EQ(useful_flops(Pass::kForward, problem_of(10, 20, false)), 4u * 2 * 3 * 10 * 20 * 64);
}

TEST(Flops, AreHalvedWhenCausalAndSquare) {
  EXPECT_EQ(useful_flops(Pass::kForward, problem_of(10, 10, true)), 2u * 2 * 3 * 10 * 10 * 64);
}

TEST(Flops, CountVisiblePairsWhenCausalAndNotSquare) {
  EXPECT_EQ(useful_flops(Pass::kForward, problem_of(2, 3, true)), 4u * 2 * 3 * (2 + 3) * 64);
  EXPECT_EQ(useful_flops(Pass::kForward, problem_of(5, 2, true)), 4u * 2 * 3 * (1 + 2) * 64);
}

TEST(Flops, SaturateInsteadOfOverflowing) {
  Problem problem = problem_of(1 << 24, 1 << 24, false);
  problem.batch = problem.heads = 1 << 24;
  EXPECT_EQ(useful_flops(Pass::kForward, problem), std::numeric_limits<std::uint64_t>::max());
}

TEST(Flops, RefuseThePassThatHasNoKernel) {
  EXPECT_THROW(useful_flops(Pass::kBackward, problem_of(1, 1, false)), std::invalid_argument);
  EXPECT_THROW(compulsory_bytes(Pass::kBackward, problem_of(1, 1, false)), std::invalid_argument);
}

TEST(Bytes, AreTheInputsAndOutputsOnce) {
  const std::uint64_t rows_q = 2 * 10 * 3, rows_k = 2 * 20 * 3;
  EXPECT_EQ(compulsory_bytes(Pass::kForward, problem_of(10, 20, false)),
            2 * rows_q * 64 * 2 + 2 * rows_k * 64 * 2 + rows_q * 4);
}

}  // namespace
}  // namespace sparkbench
