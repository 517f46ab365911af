#include "sweeps/work.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

Problem problem_of(int seqlen_q, int seqlen_k, bool causal) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  problem.head_dim = 64;
  problem.mask = MaskSpec::causal_if(causal);
  return problem;
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

TEST(Flops, OfAPatternAreThoseOfEachHeadsPairs) {
  Problem problem = problem_of(10, 10, false);  // two sequences of three heads
  problem.sparse = make_sparse_mask("causal-full/chunk:5", 10, 10);
  const std::uint64_t pairs = 2 * (55 + 50 + 55);
  EXPECT_EQ(useful_flops(Pass::kForward, problem), 4 * pairs * 64);
  EXPECT_EQ(useful_flops(Pass::kBackward, problem), 10 * pairs * 64);
  EXPECT_EQ(pairs_of(problem).visible, pairs);
  EXPECT_EQ(pairs_of(problem).all, 2u * 3 * 10 * 10);
}

TEST(Pairs, AreThoseOfEverySequence) {
  EXPECT_EQ(pairs_of(problem_of(10, 10, true)).visible, 2u * 3 * 55);
  EXPECT_EQ(pairs_of(problem_of(10, 20, false)).visible, pairs_of(problem_of(10, 20, false)).all);
  const Problem ragged = with_lengths(
      problem_of(1, 1, false),
      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{3, 4}, {0, 9}, {5, 0}}));
  EXPECT_EQ(pairs_of(ragged).visible, 3u * 3 * 4);
  EXPECT_EQ(pairs_of(ragged).all, 3u * 3 * 4);
}

TEST(Flops, SaturateInsteadOfOverflowing) {
  Problem problem = problem_of(1 << 24, 1 << 24, false);
  problem.batch = problem.heads = 1 << 24;
  EXPECT_EQ(useful_flops(Pass::kForward, problem), std::numeric_limits<std::uint64_t>::max());
}

TEST(Flops, OfBackwardAreTwoAndAHalfForwards) {
  for (const bool causal : {false, true}) {
    for (const Problem& problem : {problem_of(10, 10, causal), problem_of(7, 9, causal)}) {
      const std::uint64_t forward = useful_flops(Pass::kForward, problem);
      EXPECT_EQ(2 * useful_flops(Pass::kBackward, problem), 5 * forward);
      EXPECT_EQ(2 * useful_flops(Pass::kForwardBackward, problem), 7 * forward);
    }
  }
}

TEST(Flops, AreThoseOfTheQueriesHeads) {
  Problem problem = problem_of(10, 20, false);
  problem.heads_k = 1;
  EXPECT_EQ(useful_flops(Pass::kForward, problem), 4u * 2 * 3 * 10 * 20 * 64);
}

TEST(Bytes, OfSharedKeysAreReadOnce) {
  Problem problem = problem_of(10, 20, false);
  problem.heads_k = 1;
  const std::uint64_t rows_q = 2 * 10 * 3, rows_k = 2 * 20 * 1;
  EXPECT_EQ(compulsory_bytes(Pass::kForward, problem),
            2 * rows_q * 64 * 2 + 2 * rows_k * 64 * 2 + rows_q * 4);
}

TEST(Bytes, AreTheInputsAndOutputsOnce) {
  const std::uint64_t rows_q = 2 * 10 * 3, rows_k = 2 * 20 * 3;
  EXPECT_EQ(compulsory_bytes(Pass::kForward, problem_of(10, 20, false)),
            2 * rows_q * 64 * 2 + 2 * rows_k * 64 * 2 + rows_q * 4);
}

TEST(Bytes, OfTheBackwardAreTensorsAndTheirGradients) {
  const std::uint64_t rows_q = 2 * 10 * 3, rows_k = 2 * 20 * 3;
  const Problem problem = problem_of(10, 20, false);
  // q, o, d_o, dq; k, v, dk, dv; lse
  EXPECT_EQ(compulsory_bytes(Pass::kBackward, problem),
            4 * rows_q * 64 * 2 + 4 * rows_k * 64 * 2 + rows_q * 4);
  EXPECT_EQ(compulsory_bytes(Pass::kForwardBackward, problem),
            compulsory_bytes(Pass::kForward, problem) + compulsory_bytes(Pass::kBackward, problem));
}

TEST(Work, OfPackedSequencesIsTheSumOfEach) {
  const auto lengths = std::make_shared<const SequenceLengths>(
      std::vector<SequenceLength>{{10, 10}, {0, 7}, {5, 0}, {3, 20}});
  Problem problem = problem_of(1, 1, false);
  problem.mask = MaskSpec::causal();
  problem = with_lengths(problem, lengths);
  // Half of a square; for 3 rows that end at the last key, 18 + 19 + 20.
  EXPECT_EQ(useful_flops(Pass::kForward, problem), 4u * 3 * 64 * (50 + 57));
  EXPECT_EQ(useful_flops(Pass::kBackward, problem), 10u * 3 * 64 * (50 + 57));
  const std::uint64_t rows_q = 18 * 3, rows_k = 37 * 3, offsets = 2 * 5 * 4;
  EXPECT_EQ(compulsory_bytes(Pass::kForward, problem),
            2 * rows_q * 64 * 2 + 2 * rows_k * 64 * 2 + rows_q * 4 + offsets);
}

TEST(Work, OfNoSequenceIsNone) {
  const auto none = std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{});
  EXPECT_EQ(useful_flops(Pass::kForward, with_lengths(problem_of(1, 1, false), none)), 0u);
}

}  // namespace
}  // namespace sparkbench
