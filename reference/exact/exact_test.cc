// The end of the chain of trust: cases small enough to be computed by hand.
#include "reference/exact/exact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>

#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Half> halves(std::initializer_list<float> values) {
  std::vector<Half> result;
  for (const float value : values) result.push_back(to_half(value));
  return result;
}

/// One head of dimension 2, its scale ln 3, so that a score of 1 has the weight 3 and 0 the
/// weight 1.
Problem weights_of_three(int seqlen_q, int seqlen_k) {
  Problem problem;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  problem.head_dim = 2;
  problem.softmax_scale = std::log(3.0f);
  return problem;
}

ExactRows exact_all(const Problem& problem, const std::vector<Half>& q, const std::vector<Half>& k,
                    const std::vector<Half>& v) {
  return exact_forward(problem, {q, k, v}, all_rows(problem));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities
    EXPECT_LE(std::abs(got[i] - want[i]), 1e-7) << "element " << i << " is " << got[i];
  }
}

TEST(Exact, TwoQueriesOfTwoKeysByHand) {
  //  Q = 1 0   K = 1 0   V = 1 2   Q K^T = 1 0   exp(ln 3 * Q K^T) = 3 1   P = 3/4 1/4
  //      0 1       0 1       3 4           0 1                       1 3       1/4 3/4
  //  O = 3/4 + 3/4   6/4 + 4/4  = 1.5 2.5    LSE = ln(3 + 1), twice
  //      1/4 + 9/4   2/4 + 12/4   2.5 3.5
  const Problem problem = weights_of_three(2, 2);
  const auto identity = halves({1, 0, 0, 1});
  const ExactRows rows = exact_all(problem, identity, identity, halves({1, 2, 3, 4}));
  expect_near(rows.o, {1.5, 2.5, 2.5, 3.5});
  expect_near(rows.lse, {std::log(4.0), std::log(4.0)});
}

TEST(Exact, CausalSquareHidesTheSecondKeyFromTheFirstQuery) {
  // As above; row 0 sees key 0 alone: O = V[0], LSE = ln 3.
  Problem problem = weights_of_three(2, 2);
  problem.mask = MaskSpec::causal_if(true);
  const auto identity = halves({1, 0, 0, 1});
  const ExactRows rows = exact_all(problem, identity, identity, halves({1, 2, 3, 4}));
  expect_near(rows.o, {1.0, 2.0, 2.5, 3.5});
  expect_near(rows.lse, {std::log(3.0), std::log(4.0)});
}

TEST(Exact, CausalWithMoreKeysAlignsToTheBottomRight) {
  // Two queries (1 0), (1 0) on three keys (1 0), (0 1), (1 0): weights 3 1 3.
  // Row 0 sees keys 0 and 1: O = (3 * 8 + 1 * 16) / 4 = 10, and 0; LSE = ln 4.
  // Row 1 sees all: O = (3 * 8 + 1 * 16 + 3 * 10) / 7 = 10, and 3 * 7 / 7 = 3; LSE = ln 7.
  Problem problem = weights_of_three(2, 3);
  problem.mask = MaskSpec::causal_if(true);
  const ExactRows rows = exact_all(problem, halves({1, 0, 1, 0}), halves({1, 0, 0, 1, 1, 0}),
                                   halves({8, 0, 16, 0, 10, 7}));
  expect_near(rows.o, {10.0, 0.0, 10.0, 3.0});
  expect_near(rows.lse, {std::log(4.0), std::log(7.0)});
}

TEST(Exact, CausalWithMoreQueriesGivesFullyMaskedRowsZeroAndMinusInfinity) {
  // Three queries on two keys: row 0 sees none, row 1 key 0, row 2 both.
  Problem problem = weights_of_three(3, 2);
  problem.mask = MaskSpec::causal_if(true);
  const ExactRows rows =
      exact_all(problem, halves({1, 0, 1, 0, 0, 1}), halves({1, 0, 0, 1}), halves({1, 2, 3, 4}));
  expect_near(rows.o, {0.0, 0.0, 1.0, 2.0, 2.5, 3.5});
  expect_near(rows.lse, {-kInfinity, std::log(3.0), std::log(4.0)});
}

TEST(Exact, DropoutTakesWeightsAwayAfterTheSoftmaxAndScalesTheOthers) {
  // Every query is (1 0), so P = 3/4 1/4 in every row, and 3/2 1/2 where kept at p = 1/2.
  // V = identity, so O is the row of P that is left.
  Problem problem = weights_of_three(64, 2);
  problem.dropout_p = 0.5f;
  problem.seed = 11;
  std::vector<Half> q;
  for (int row = 0; row < 64; ++row) q.insert(q.end(), {to_half(1), to_half(0)});
  const auto identity = halves({1, 0, 0, 1});
  const ExactRows rows = exact_all(problem, q, identity, identity);
  std::vector<double> want;
  int patterns_seen = 0;
  for (std::uint32_t row = 0; row < 64; ++row) {
    const bool first = dropout_keeps(problem.dropout(), 0, row, 0);
    const bool second = dropout_keeps(problem.dropout(), 0, row, 1);
    want.insert(want.end(), {first ? 1.5 : 0.0, second ? 0.5 : 0.0});
    patterns_seen |= 1 << (2 * first + second);
  }
  EXPECT_EQ(patterns_seen, 0b1111);
  expect_near(rows.o, want);
  expect_near(rows.lse, std::vector<double>(64, std::log(4.0)));
}

TEST(Exact, AddingAConstantToAllScoresShiftsOnlyLse) {
  // q = (x 1), k = (y c): s = x y + c.
  Problem problem = weights_of_three(1, 3);
  problem.softmax_scale = 1.0f;
  const auto q = halves({0.5f, 1.0f});
  const auto v = halves({1, -2, 3, 5, -8, 13});
  const ExactRows plain = exact_all(problem, q, halves({1, 0, 2, 0, 3, 0}), v);
  const ExactRows shifted = exact_all(problem, q, halves({1, 100, 2, 100, 3, 100}), v);
  for (std::size_t d = 0; d < 2; ++d) EXPECT_LE(std::abs(plain.o[d] - shifted.o[d]), 1e-13);
  EXPECT_LE(std::abs(shifted.lse[0] - plain.lse[0] - 100.0), 1e-13);
}

TEST(Exact, LargeScoresDoNotOverflow) {
  // Scores 60000 * 60000 and its negative: the softmax is 1 0, LSE the larger score.
  Problem problem = weights_of_three(1, 2);
  problem.softmax_scale = 1.0f;
  const ExactRows rows =
      exact_all(problem, halves({60000, 0}), halves({60000, 0, -60000, 0}), halves({1, 2, 3, 4}));
  expect_near(rows.o, {1.0, 2.0});
  const double large = to_float(to_half(60000));
  EXPECT_EQ(rows.lse[0], large * large);
}

TEST(Exact, DefaultScaleIsOneOverTheRootOfHeadDim) {
  // head_dim 4, q = k = (1 1 1 1): s = 4 / sqrt(4) = 2, and LSE of one key is its score.
  Problem problem;
  problem.head_dim = 4;
  const auto ones = halves({1, 1, 1, 1});
  EXPECT_EQ(exact_all(problem, ones, ones, ones).lse[0], 2.0);
  problem.softmax_scale = 0.25f;
  EXPECT_EQ(exact_all(problem, ones, ones, ones).lse[0], 1.0);
}

TEST(Exact, InfinityMinusInfinityIsNotANumber) {
  Problem problem = weights_of_three(1, 1);
  const auto infinite = halves({std::numeric_limits<float>::infinity(), 0});
  const ExactRows rows = exact_all(problem, halves({1, 0}), infinite, halves({1, 2}));
  EXPECT_TRUE(std::isnan(rows.o[0]));
}

TEST(Exact, EveryHeadOfEveryBatchElementIsAProblemOfItsOwn) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = 70;
  problem.seqlen_k = 33;
  problem.head_dim = 8;
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const std::vector<QueryRow> rows = {{0, 2, 3}, {1, 1, 0}, {1, 1, 69}};
  const ExactRows together = exact_forward(problem, inputs.view(), rows);

  Problem one_head = problem;
  one_head.batch = one_head.heads = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto slice = [&](InputTensor tensor, int seqlen) {
      return make_input_head({Distribution::kNormal, 5, tensor}, {2, seqlen, 3, 8}, rows[i].batch,
                             rows[i].head);
    };
    const auto q = slice(InputTensor::kQ, 70), k = slice(InputTensor::kK, 33),
               v = slice(InputTensor::kV, 33);
    const ExactRows alone =
        exact_forward(one_head, {q, k, v}, std::vector<QueryRow>{{0, 0, rows[i].row}});
    EXPECT_EQ(alone.lse[0], together.lse[i]);
    for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(alone.o[d], together.o[i * 8 + d]);
  }
}

TEST(RoundedForward, HasTheAskedRowsInPlaceAndZerosElsewhere) {
  const Problem problem{.batch = 2, .heads = 2, .seqlen_q = 3, .seqlen_k = 4, .head_dim = 64};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 1);
  const std::vector<QueryRow> rows = {{0, 1, 2}, {1, 0, 0}};
  const RoundedForward forward = rounded_forward(problem, inputs.view(), rows);
  const ForwardRows asked = gather_rows(problem, forward.o, forward.lse, rows);
  const ExactRows exact = exact_forward(problem, inputs.view(), rows);
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    EXPECT_EQ(asked.o[i].bits, to_half(static_cast<float>(exact.o[i])).bits);
  }
  EXPECT_EQ(asked.lse[1], static_cast<float>(exact.lse[1]));
  EXPECT_EQ(forward.o[row_offset(1, 1, 0, 3, 2, 64)].bits, 0);
  EXPECT_EQ(forward.lse[0], 0.0f);
}

}  // namespace
}  // namespace sparkbench
