// The end of the chain of trust: cases small enough to be computed by hand.
#include "reference/exact/exact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/mask/test_masks.h"
#include "reference/exact/test_values.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One head of dimension 2 with scale ln 3: a score of 1 has weight 3 and a score of 0 has weight
/// 1.
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

TEST(Exact, CausalSquareByHand) {
  // As above, but row 0 sees only key 0: O = V[0], LSE = ln 3.
  Problem problem = weights_of_three(2, 2);
  problem.mask = MaskSpec::causal_if(true);
  const auto identity = halves({1, 0, 0, 1});
  const ExactRows rows = exact_all(problem, identity, identity, halves({1, 2, 3, 4}));
  expect_near(rows.o, {1.0, 2.0, 2.5, 3.5});
  expect_near(rows.lse, {std::log(3.0), std::log(4.0)});
}

TEST(Exact, CausalAlignsToTheBottomRight) {
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

TEST(Exact, RowsWithoutAKeyAreEmpty) {
  // Three queries on two keys: row 0 sees none, row 1 key 0, row 2 both.
  Problem problem = weights_of_three(3, 2);
  problem.mask = MaskSpec::causal_if(true);
  const ExactRows rows =
      exact_all(problem, halves({1, 0, 1, 0, 0, 1}), halves({1, 0, 0, 1}), halves({1, 2, 3, 4}));
  expect_near(rows.o, {0.0, 0.0, 1.0, 2.0, 2.5, 3.5});
  expect_near(rows.lse, {-kInfinity, std::log(3.0), std::log(4.0)});
}

TEST(Exact, WindowOfTwoKeysByHand) {
  // Three queries (1 0) on keys (1 0), (0 1), (1 0): weights 3 1 3. A row sees its key and the one
  // before it.
  // Row 0 sees key 0: O = 8 0, LSE = ln 3.
  // Row 1 sees keys 0 and 1: O = (3 * 8 + 1 * 16) / 4 = 10, and 0; LSE = ln 4.
  // Row 2 sees keys 1 and 2: O = (1 * 16 + 3 * 12) / 4 = 13, and 3 * 8 / 4 = 6; LSE = ln 4.
  Problem problem = weights_of_three(3, 3);
  problem.mask = MaskSpec::window(2);
  const ExactRows rows = exact_all(problem, halves({1, 0, 1, 0, 1, 0}), halves({1, 0, 0, 1, 1, 0}),
                                   halves({8, 0, 16, 0, 12, 8}));
  expect_near(rows.o, {8.0, 0.0, 10.0, 0.0, 13.0, 6.0});
  expect_near(rows.lse, {std::log(3.0), std::log(4.0), std::log(4.0)});
}

TEST(Exact, WindowOfOneKeyIsTheDiagonal) {
  // Two queries on three keys are at keys 1 and 2; each O is that V, each LSE that score.
  Problem problem = weights_of_three(2, 3);
  problem.mask = MaskSpec::window(1);
  const ExactRows rows = exact_all(problem, halves({1, 0, 1, 0}), halves({1, 0, 0, 1, 1, 0}),
                                   halves({8, 0, 16, 1, 12, 8}));
  expect_near(rows.o, {16.0, 1.0, 12.0, 8.0});
  expect_near(rows.lse, {0.0, std::log(3.0)});
}

TEST(Exact, BandByHand) {
  // As in the window's case, a row sees its key and the one after it.
  // Row 0: keys 0 and 1, O = 10 0.  Row 1: keys 1 and 2, O = 13 6.  Row 2: key 2, O = 12 8.
  Problem problem = weights_of_three(3, 3);
  problem.mask = MaskSpec::band(0, 1);
  const ExactRows rows = exact_all(problem, halves({1, 0, 1, 0, 1, 0}), halves({1, 0, 0, 1, 1, 0}),
                                   halves({8, 0, 16, 0, 12, 8}));
  expect_near(rows.o, {10.0, 0.0, 13.0, 6.0, 12.0, 8.0});
  expect_near(rows.lse, {std::log(4.0), std::log(4.0), std::log(3.0)});
}

TEST(Exact, WindowPastTheKeysLeavesRowsEmpty) {
  // Three queries on one key are at -2, -1 and 0, so only the last sees it.
  Problem problem = weights_of_three(3, 1);
  problem.mask = MaskSpec::window(2);
  const ExactRows rows =
      exact_all(problem, halves({1, 0, 1, 0, 1, 0}), halves({1, 0}), halves({5, 7}));
  expect_near(rows.o, {0.0, 0.0, 0.0, 0.0, 5.0, 7.0});
  expect_near(rows.lse, {-kInfinity, -kInfinity, std::log(3.0)});
}

/// O of a row, then its LSE, from a mask that is evaluated for every pair.
std::vector<double> attend_densely(const Problem& problem, const OwnedInputs& inputs,
                                   const QueryRow& r) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const auto q = row_of(inputs.q, query_shape(problem), r);
  const double keep_scale = 256.0 / (256.0 - problem.dropout().threshold);
  std::vector<double> o(head_dim);
  double sum = 0.0;
  for (int key = 0; key < problem.seqlen_k; ++key) {
    if (!sees_by_definition(problem.mask, problem.seqlen_q, problem.seqlen_k, r.row, key)) continue;
    const KeyRow kv{r.batch, r.head, key};
    const auto k = row_of(inputs.k, key_shape(problem), kv);
    const auto v = row_of(inputs.v, key_shape(problem), kv);
    double score = 0.0;
    for (std::size_t d = 0; d < head_dim; ++d) score += double{to_float(q[d])} * to_float(k[d]);
    const double weight = std::exp(score * problem.scale());
    sum += weight;
    if (!dropout_keeps(problem.dropout(),
                       static_cast<std::uint32_t>(r.batch * problem.heads + r.head),
                       static_cast<std::uint32_t>(r.row), static_cast<std::uint32_t>(key))) {
      continue;
    }
    for (std::size_t d = 0; d < head_dim; ++d) o[d] += keep_scale * weight * to_float(v[d]);
  }
  for (double& element : o) element = sum > 0.0 ? element / sum : 0.0;
  o.push_back(std::log(sum));
  return o;
}

TEST(Exact, IsTheDenselyMaskedSumForEveryMask) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{50, 50}, {33, 129}, {129, 33}, {1, 70}}) {
    for (const MaskSpec& mask : kTestMasks) {
      for (const float dropout_p : {0.0f, 0.3f}) {
        const Problem problem{2, 2, seqlen_q, seqlen_k, 8, mask, dropout_p, 0.0f, /*seed=*/9};
        const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
        const auto rows = all_rows(problem);
        const ExactRows exact = exact_forward(problem, inputs.view(), rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          std::vector<double> got(exact.o.begin() + static_cast<std::ptrdiff_t>(8 * i),
                                  exact.o.begin() + static_cast<std::ptrdiff_t>(8 * i + 8));
          got.push_back(exact.lse[i]);
          expect_near(got, attend_densely(problem, inputs, rows[i]));
          ASSERT_FALSE(HasFailure()) << name_of(mask) << ", query " << rows[i].row;
        }
      }
    }
  }
}

TEST(Exact, ReadsEveryLayoutInPlace) {
  const Problem problem{2, 3, 20, 33, 8, MaskSpec::window(9)};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const auto rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  for (const TestLayout layout : kTestLayouts) {
    const LaidOutTensor q(inputs.q, query_shape(problem), layout);
    const LaidOutTensor k(inputs.k, key_shape(problem), layout);
    const LaidOutTensor v(inputs.v, key_shape(problem), layout);
    const ExactRows got = exact_forward(problem, {q.tensor(), k.tensor(), v.tensor()}, rows);
    EXPECT_EQ(got.o, want.o) << name_of(layout);
    EXPECT_EQ(got.lse, want.lse) << name_of(layout);
  }
}

TEST(Exact, DropoutTakesWeightsAwayAndScalesTheOthers) {
  // Every query is (1 0), so P = 3/4 1/4 in every row, and 3/2 1/2 if kept at p = 1/2. V =
  // identity, so O is the row of P after dropout.
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

TEST(Exact, AConstantInAllScoresShiftsLse) {
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

TEST(Exact, DefaultScaleIsTheRootOfHeadDim) {
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

TEST(Exact, EveryHeadIsAProblemOfItsOwn) {
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

TEST(RoundedForward, HasTheAskedRowsInPlace) {
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
