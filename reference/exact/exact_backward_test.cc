// The end of the chain of trust for gradients: cases computed by hand, and finite differences of
// the exact forward pass.
#include "reference/exact/exact_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "kernels/mask/test_masks.h"
#include "reference/exact/exact.h"
#include "reference/exact/test_values.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {
namespace {

/// The float value: the scale of the hand-computed cases.
double ln3() { return std::log(3.0f); }

/// The first case of exact_test.cc: scale ln 3, Q = K = dO = identity, V = 1 2, O = 1.5 2.5.
///                                                                        3 4      2.5 3.5
struct TwoByTwo {
  Problem problem;
  std::vector<Half> identity = halves({1, 0, 0, 1});
  std::vector<Half> v = halves({1, 2, 3, 4});

  explicit TwoByTwo(const MaskSpec& mask) {
    problem.seqlen_q = problem.seqlen_k = problem.head_dim = 2;
    problem.softmax_scale = std::log(3.0f);
    problem.mask = mask;
  }
  BackwardInputs inputs() const { return {identity, identity, v, identity}; }
};

TEST(ExactBackward, TwoQueriesOfTwoKeysByHand) {
  //  P = 3/4 1/4   dV = P^T dO = 3/4 1/4   dP = dO V^T = 1 3   delta = 3/4 + 3/4 = 3/2
  //      1/4 3/4                 1/4 3/4                 2 4           1/2 + 3   = 7/2
  //  dS = 3/4 * (1 - 3/2)   1/4 * (3 - 3/2)  = -3/8 3/8
  //       1/4 * (2 - 7/2)   3/4 * (4 - 7/2)    -3/8 3/8
  //  dQ = ln 3 * dS K = ln 3 * dS,  dK = ln 3 * dS^T Q = ln 3 * dS^T
  const TwoByTwo two(MaskSpec::full());
  const auto gradients = exact_backward(two.problem, two.inputs(), all_gradient_rows(two.problem));
  const double a = 3.0 / 8.0 * ln3();
  expect_near(gradients.dv, {0.75, 0.25, 0.25, 0.75}, 1e-7);
  expect_near(gradients.dq, {-a, a, -a, a}, 1e-7);
  expect_near(gradients.dk, {-a, -a, a, a}, 1e-7);
}

TEST(ExactBackward, CausalSquareByHand) {
  //  Row 0 sees only key 0, P = 1 and delta = dP = 1, so its dS = 0. Row 1 is as above.
  //  P = 1   0     dV = 1 1/4   dS =  0   0
  //      1/4 3/4        0 3/4       -3/8 3/8
  const TwoByTwo two(MaskSpec::causal());
  const auto gradients = exact_backward(two.problem, two.inputs(), all_gradient_rows(two.problem));
  const double a = 3.0 / 8.0 * ln3();
  expect_near(gradients.dv, {1.0, 0.25, 0.0, 0.75}, 1e-7);
  expect_near(gradients.dq, {0.0, 0.0, -a, a}, 1e-7);
  expect_near(gradients.dk, {0.0, -a, 0.0, a}, 1e-7);
}

TEST(ExactBackward, BandByHand) {
  //  A row sees its key and the one after it: row 0 as in the first case, row 1 only key 1.
  //  P = 3/4 1/4   dV = 3/4 0   dS = -3/8 3/8
  //      0   1          1/4 1          0   0
  const TwoByTwo two(MaskSpec::band(0, 1));
  const auto gradients = exact_backward(two.problem, two.inputs(), all_gradient_rows(two.problem));
  const double a = 3.0 / 8.0 * ln3();
  expect_near(gradients.dv, {0.75, 0.0, 0.25, 1.0}, 1e-7);
  expect_near(gradients.dq, {-a, a, 0.0, 0.0}, 1e-7);
  expect_near(gradients.dk, {-a, 0.0, a, 0.0}, 1e-7);
}

TEST(ExactBackward, WindowOfOneKeyByHand) {
  //  Each row sees its own key, P = 1: dV = dO, and a softmax over one key has no gradient.
  const TwoByTwo two(MaskSpec::window(1));
  const auto gradients = exact_backward(two.problem, two.inputs(), all_gradient_rows(two.problem));
  expect_near(gradients.dv, {1.0, 0.0, 0.0, 1.0}, 1e-7);
  expect_near(gradients.dq, {0.0, 0.0, 0.0, 0.0}, 1e-7);
  expect_near(gradients.dk, {0.0, 0.0, 0.0, 0.0}, 1e-7);
}

TEST(ExactBackward, TakesDeltaAndLseFromAGivenForward) {
  // The forward of the first case, whose O fp16 holds exactly, gives the same gradients.
  // With ln 2 more in row 1's LSE, that row of P is 1/8 3/8, and with O = 0 its delta is 0:
  //  dV = 3/4 1/8   dS =   -3/8       3/8
  //       1/4 3/8        1/8 * 2   3/8 * 4
  const TwoByTwo two(MaskSpec::full());
  const GradientRows rows = all_gradient_rows(two.problem);
  BackwardInputs inputs = two.inputs();
  const ExactGradients computed = exact_backward(two.problem, inputs, rows);
  std::vector<Half> o = halves({1.5f, 2.5f, 2.5f, 3.5f});
  std::vector<float> lse(2, std::log(4.0f));
  inputs.o = o;
  inputs.lse = lse;
  const ExactGradients given = exact_backward(two.problem, inputs, rows);
  expect_near(given.dq, computed.dq, 1e-7);
  expect_near(given.dk, computed.dk, 1e-7);
  expect_near(given.dv, computed.dv, 1e-7);

  lse[1] += std::log(2.0f);
  o[2] = o[3] = to_half(0.0f);
  const ExactGradients other = exact_backward(two.problem, inputs, rows);
  const double a = 3.0 / 8.0 * ln3();
  expect_near(other.dv, {0.75, 0.125, 0.25, 0.375}, 1e-7);
  expect_near(other.dq, {-a, a, 0.25 * ln3(), 1.5 * ln3()}, 1e-6);
  expect_near(other.dk, {-a, 0.25 * ln3(), a, 1.5 * ln3()}, 1e-6);
}

constexpr double kStep = 0x1p-7;

/// q, k, v and d_o are multiples of kStep in [-1, 1]; fp16 holds them and their neighbours exactly.
struct SteppedInputs {
  std::vector<Half> q, k, v, d_o;

  explicit SteppedInputs(const Problem& problem) {
    OwnedInputs inputs = make_inputs(problem, Distribution::kUniform, 21);
    q = inputs.q;
    k = inputs.k;
    v = inputs.v;
    d_o = make_gradient_input(problem, Distribution::kUniform, 21);
    for (std::vector<Half>* tensor : {&q, &k, &v, &d_o}) {
      for (Half& x : *tensor) {
        x = to_half(static_cast<float>(std::round(to_float(x) / kStep) * kStep));
      }
    }
  }

  /// sum(O * dO)
  double loss(const Problem& problem) const {
    const auto rows = all_rows(problem);
    const ExactRows exact = exact_forward(problem, {q, k, v}, rows);
    const auto head_dim = static_cast<std::size_t>(problem.head_dim);
    double sum = 0.0;
    for (std::size_t i = 0; i < exact.o.size(); ++i) {
      const QueryRow& r = rows[i / head_dim];
      sum += exact.o[i] *
             to_float(row_of(std::span<const Half>(d_o), query_shape(problem), r)[i % head_dim]);
    }
    return sum;
  }
};

/// d loss / d x, from steps h and 2h on both sides.
double difference(const Problem& problem, const SteppedInputs& inputs, Half& x) {
  const Half middle = x;
  const auto central = [&](double h) {
    x = to_half(static_cast<float>(to_float(middle) + h));
    const double above = inputs.loss(problem);
    x = to_half(static_cast<float>(to_float(middle) - h));
    const double below = inputs.loss(problem);
    x = middle;
    return (above - below) / (2.0 * h);
  };
  return (4.0 * central(kStep) - central(2.0 * kStep)) / 3.0;
}

/// The elements of a tensor in row order, which differs from the tensor's order.
template <class Row>
std::vector<double> differences(const Problem& problem, const SteppedInputs& inputs,
                                std::vector<Half>& tensor, const TensorShape& shape) {
  std::vector<double> result;
  for (const Row& r : all_rows_of<Row>(shape)) {
    const std::size_t begin =
        row_offset(r.batch, r.row, r.head, shape.seqlen, shape.heads, shape.head_dim);
    for (int d = 0; d < shape.head_dim; ++d) {
      result.push_back(difference(problem, inputs, tensor[begin + static_cast<std::size_t>(d)]));
    }
  }
  return result;
}

// The differences are off by h^4 / 30 times the fifth derivative of the loss. That is a sum over at
// most 7 queries of joint cumulants of dO . V, at most 4 / 0.7, and of five times scale * k (or q),
// at most 1/2. A joint cumulant of six variables is a sum over their partitions (Leonov and
// Shiryaev, 1959) whose coefficients add up to 1082. Roundings add 2^-53 * |loss| / h, less than
// 1e-12.
constexpr double kDifferenceError = 0x1p-28 / 30.0 * 7.0 * 4.0 / 0.7 / 32.0 * 1082.0;  // 1.7e-7

TEST(ExactBackward, IsTheFiniteDifferenceOfTheExactForward) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{5, 5}, {3, 7}, {7, 3}, {1, 1}}) {
    for (const MaskSpec& mask : kTestMasks) {
      for (const float dropout_p : {0.0f, 0.3f}) {
        const Problem problem{2, 2, seqlen_q, seqlen_k, 4, mask, dropout_p, 0.0f, /*seed=*/3};
        SteppedInputs inputs(problem);
        const auto gradients = exact_backward(problem, {inputs.q, inputs.k, inputs.v, inputs.d_o},
                                              all_gradient_rows(problem));
        const TensorShape queries = query_shape(problem), keys = key_shape(problem);
        const auto dq = differences<QueryRow>(problem, inputs, inputs.q, queries);
        const auto dk = differences<KeyRow>(problem, inputs, inputs.k, keys);
        const auto dv = differences<KeyRow>(problem, inputs, inputs.v, keys);
        expect_near(gradients.dq, dq, kDifferenceError);
        expect_near(gradients.dk, dk, kDifferenceError);
        expect_near(gradients.dv, dv, 1e-11);  // the loss is linear in V
        ASSERT_FALSE(HasFailure()) << name_of(mask) << ", " << seqlen_q << " x " << seqlen_k;
      }
    }
  }
}

TEST(ExactBackward, AQueryWithoutAKeyGivesNothing) {
  // Five queries of two keys, causal: the first three see nothing, so the other two by themselves
  // give the same dK and dV.
  Problem problem{1, 1, 5, 2, 8, MaskSpec::causal()};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  const auto all =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_o}, all_gradient_rows(problem));
  for (std::size_t i = 0; i < 3 * 8; ++i) EXPECT_EQ(all.dq[i], 0.0);
  problem.seqlen_q = 2;
  const auto seen = exact_backward(
      problem, {std::span(inputs.q).subspan(24), inputs.k, inputs.v, std::span(d_o).subspan(24)},
      all_gradient_rows(problem));
  EXPECT_EQ(all.dk, seen.dk);
  EXPECT_EQ(all.dv, seen.dv);
}

TEST(ExactBackward, AKeyThatNobodySeesHasNone) {
  // Two queries of five keys are at keys 3 and 4: no query sees keys 0 to 2.
  const Problem problem{1, 1, 2, 5, 8, MaskSpec::window(1)};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  const auto gradients =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_o}, all_gradient_rows(problem));
  for (std::size_t i = 0; i < 3 * 8; ++i) EXPECT_EQ(gradients.dv[i], 0.0);
  for (std::size_t i = 0; i < 2 * 8; ++i) EXPECT_EQ(gradients.dv[3 * 8 + i], to_float(d_o[i]));
}

TEST(ExactBackward, ReadsEveryLayoutInPlace) {
  const Problem problem{2, 3, 20, 33, 8, MaskSpec::band(7, 2), 0.1f, 0.0f, /*seed=*/6};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_out = make_gradient_input(problem, Distribution::kNormal, 4);
  const RoundedForward forward = rounded_forward(problem, inputs.view(), all_rows(problem));
  const GradientRows rows = all_gradient_rows(problem);
  const auto want =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_out, forward.o, forward.lse}, rows);
  for (const TestLayout layout : kTestLayouts) {
    const TensorShape queries = query_shape(problem), keys = key_shape(problem);
    const LaidOutTensor q(inputs.q, queries, layout), k(inputs.k, keys, layout);
    const LaidOutTensor v(inputs.v, keys, layout), d_o(d_out, queries, layout);
    const LaidOutTensor o(forward.o, queries, layout);
    const auto got = exact_backward(
        problem, {q.tensor(), k.tensor(), v.tensor(), d_o.tensor(), o.tensor(), forward.lse}, rows);
    EXPECT_EQ(got.dq, want.dq) << name_of(layout);
    EXPECT_EQ(got.dk, want.dk) << name_of(layout);
    EXPECT_EQ(got.dv, want.dv) << name_of(layout);
  }
}

TEST(ExactBackward, ADroppedElementGivesNoGradient) {
  // One query: row j of dV comes from the element (0, j) only. Dropped or not, its score affects
  // the others through the softmax.
  Problem problem{1, 1, 1, 200, 4, MaskSpec::full(), /*dropout_p=*/0.5f, 0.0f, /*seed=*/6};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  const auto gradients =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_o}, all_gradient_rows(problem));
  int kept = 0;
  for (std::uint32_t j = 0; j < 200; ++j) {
    const bool is_kept = dropout_keeps(problem.dropout(), 0, 0, j);
    EXPECT_EQ(gradients.dv[j * 4] != 0.0, is_kept);
    EXPECT_NE(gradients.dk[j * 4], 0.0);
    kept += is_kept;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 200);
}

TEST(ExactBackward, ARowAloneIsThatAmongOthers) {
  const Problem problem{2, 3, 70, 90, 8, MaskSpec::causal(), 0.1f, 0.0f, /*seed=*/6};
  const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  const BackwardInputs inputs{owned.q, owned.k, owned.v, d_o};
  const ExactGradients all = exact_backward(problem, inputs, all_gradient_rows(problem));
  const ExactGradients alone = exact_backward(problem, inputs, {{{1, 0, 69}}, {{0, 2, 41}}});
  ASSERT_EQ(alone.dq.size(), 8u);
  ASSERT_EQ(alone.dk.size(), 8u);
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_EQ(alone.dq[d], all.dq[(3 * 70 + 69) * 8 + d]);
    EXPECT_EQ(alone.dk[d], all.dk[(2 * 90 + 41) * 8 + d]);
    EXPECT_EQ(alone.dv[d], all.dv[(2 * 90 + 41) * 8 + d]);
  }
}

TEST(ExactBackward, ANanShowsWhereItIsFelt) {
  const Problem problem{1, 1, 3, 3, 2};
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 4);
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  inputs.v[0] = Half{0x7fff};
  const auto gradients =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_o}, all_gradient_rows(problem));
  for (const double dq : gradients.dq) EXPECT_TRUE(std::isnan(dq));
  for (const double dv : gradients.dv) EXPECT_TRUE(std::isfinite(dv));
}

}  // namespace
}  // namespace sparkbench
