#include "reference/unfused/unfused_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "kernels/mask/test_masks.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

TensorCores volta(Accumulator accumulator = Accumulator::kFp32) {
  return {arithmetic_profile("volta"), accumulator};
}

/// A problem with its inputs and the O and LSE of its forward pass.
struct Case {
  Problem problem;
  OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, 4);
  std::vector<Half> o = {};
  std::vector<float> lse = {};

  explicit Case(const Problem& of) : problem(of) {
    const auto queries = all_rows(problem);
    const ForwardRows forward = unfused_forward(problem, owned.view(), queries, volta());
    lse = forward.lse;  // in row order
    o.resize(problem.q_elements());
    const TensorShape shape = query_shape(problem);
    const auto head_dim = static_cast<std::size_t>(problem.head_dim);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const QueryRow& r = queries[i];
      std::copy_n(
          &forward.o[i * head_dim], head_dim,
          &o[row_offset(r.batch, r.row, r.head, shape.seqlen, shape.heads, problem.head_dim)]);
    }
  }

  BackwardInputs inputs() const { return {owned.q, owned.k, owned.v, d_o}; }
  BackwardInputs inputs_with_forward() const { return {owned.q, owned.k, owned.v, d_o, o, lse}; }

  GradientErrors errors(const BackwardInputs& inputs, const TensorCores& tensor_cores) const {
    const GradientRows rows = all_gradient_rows(problem);
    return gradient_errors(unfused_backward(problem, inputs, rows, tensor_cores),
                           exact_backward(problem, inputs, rows));
  }
};

void expect_same_bits(const std::vector<Half>& got, const Half* want) {
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].bits, want[i].bits);
}

TEST(UnfusedBackward, TwoQueriesOfTwoKeysByHand) {
  // The first case of exact_backward_test.cc: dS = -3/8 3/8 twice, which rounding does not change.
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = problem.head_dim = 2;
  problem.softmax_scale = std::log(3.0f);
  const Half zero = to_half(0), one = to_half(1);
  const std::vector<Half> identity = {one, zero, zero, one};
  const std::vector<Half> v = {one, to_half(2), to_half(3), to_half(4)};
  const HalfGradients gradients = unfused_backward(problem, {identity, identity, v, identity},
                                                   all_gradient_rows(problem), volta());
  const float a = 0.375f * std::log(3.0f);
  const float dq[] = {-a, a, -a, a}, dk[] = {-a, -a, a, a}, dv[] = {0.75f, 0.25f, 0.25f, 0.75f};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(std::abs(to_float(gradients.dq[i]) - dq[i]), 2e-3f);
    EXPECT_LE(std::abs(to_float(gradients.dk[i]) - dk[i]), 2e-3f);
    EXPECT_LE(std::abs(to_float(gradients.dv[i]) - dv[i]), 1e-3f);
  }
}

// A few roundings of 2^-11 relative. For scores up to 8 half a unit is 2^-9, and dS also loses to
// cancellation.
TEST(UnfusedBackward, IsAsCloseAsFp16IntermediatesAllow) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{70, 70}, {33, 129}, {129, 33}, {1, 70}}) {
    for (const bool causal : {false, true}) {
      for (const float dropout_p : {0.0f, 0.17f}) {
        const Case of({2, 2, seqlen_q, seqlen_k, 64, MaskSpec::causal_if(causal), dropout_p, 0.0f,
                       /*seed=*/99});
        for (const BackwardInputs& inputs : {of.inputs(), of.inputs_with_forward()}) {
          const GradientErrors errors = of.errors(inputs, volta());
          for (const ErrorMetrics& metrics : {errors.dq, errors.dk, errors.dv}) {
            EXPECT_EQ(metrics.nonfinite, 0u);
            EXPECT_LE(metrics.rel_l2, 0x1p-9);
          }
        }
      }
    }
  }
}

// Relative to the largest gradient: if a query sees one key, dQ and dK are only rounding errors.
TEST(UnfusedBackward, Bf16IntermediatesCostThreeDigitsMore) {
  Problem problem;
  problem.heads = 2;
  problem.heads_k = 1;
  problem.seqlen_q = problem.seqlen_k = 80;
  problem.mask = MaskSpec::causal();
  Case c(problem);
  c.owned = make_inputs(problem, Distribution::kNormal, 4, 1.0f, ElementType::kBf16);
  c.d_o = make_gradient_input(problem, Distribution::kNormal, 4, ElementType::kBf16);
  const GradientErrors fp16 = c.errors(c.inputs(), volta());
  const GradientErrors bf16 =
      c.errors(c.inputs(), {volta().profile, Accumulator::kFp32, 0, ElementType::kBf16});
  for (const auto& [of_bf16, of_fp16] :
       {std::pair(bf16.dq, fp16.dq), std::pair(bf16.dk, fp16.dk), std::pair(bf16.dv, fp16.dv)}) {
    EXPECT_GE(of_bf16.rel_l2, 4 * of_fp16.rel_l2);  // 8 times, about
    EXPECT_LE(of_bf16.rel_l2, 16 * of_fp16.rel_l2);
  }
}

TEST(UnfusedBackward, IsCloseToExactUnderEveryMask) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{70, 70}, {33, 129}, {129, 33}}) {
    for (const MaskSpec& mask : kTestMasks) {
      const Case of({1, 2, seqlen_q, seqlen_k, 64, mask, 0.17f, 0.0f, /*seed=*/99});
      for (const BackwardInputs& inputs : {of.inputs(), of.inputs_with_forward()}) {
        const Tolerance tolerance{.ratio = 0.0, .floor = 0x1p-8};
        EXPECT_EQ(why_incorrect(of.errors(inputs, volta()), {}, tolerance), "")
            << name_of(mask) << ", " << seqlen_q << " x " << seqlen_k;
      }
    }
  }
}

TEST(UnfusedBackward, DropsTheElementsThatExactDrops) {
  // One query: row j of dV comes from the element (0, j) only.
  const Case of({1, 1, 1, 64, 8, MaskSpec::full(), /*dropout_p=*/0.3f, 0.0f, /*seed=*/6});
  const GradientRows rows = all_gradient_rows(of.problem);
  const HalfGradients unfused = unfused_backward(of.problem, of.inputs(), rows, volta());
  const ExactGradients exact = exact_backward(of.problem, of.inputs(), rows);
  for (std::size_t i = 0; i < exact.dv.size(); i += 8) {
    EXPECT_EQ(to_float(unfused.dv[i]) != 0.0f, exact.dv[i] != 0.0);
  }
}

TEST(UnfusedBackward, AQueryWithoutAKeyMakesNoNan) {
  const Case of({1, 2, 5, 3, 64, MaskSpec::causal(), 0.1f, 0.0f, /*seed=*/6});
  for (const BackwardInputs& inputs : {of.inputs(), of.inputs_with_forward()}) {
    const HalfGradients gradients =
        unfused_backward(of.problem, inputs, all_gradient_rows(of.problem), volta());
    for (std::size_t i = 0; i < 2 * 64; ++i) EXPECT_EQ(to_float(gradients.dq[i]), 0.0f);
    for (const auto* gradient : {&gradients.dq, &gradients.dk, &gradients.dv}) {
      for (const Half x : *gradient) EXPECT_TRUE(std::isfinite(to_float(x)));
    }
  }
}

TEST(UnfusedBackward, ARowAloneIsThatAmongOthers) {
  const Case of({2, 3, 70, 90, 64, MaskSpec::causal(), 0.1f, 0.0f, /*seed=*/6});
  for (const BackwardInputs& inputs : {of.inputs(), of.inputs_with_forward()}) {
    const HalfGradients all =
        unfused_backward(of.problem, inputs, all_gradient_rows(of.problem), volta());
    const HalfGradients alone =
        unfused_backward(of.problem, inputs, {{{1, 0, 69}}, {{0, 2, 41}}}, volta());
    expect_same_bits(alone.dq, &all.dq[(3 * 70 + 69) * 64]);
    expect_same_bits(alone.dk, &all.dk[(2 * 90 + 41) * 64]);
    expect_same_bits(alone.dv, &all.dv[(2 * 90 + 41) * 64]);
  }
}

TEST(UnfusedBackward, ReadsEveryLayoutInPlace) {
  const Case of({2, 3, 40, 50, 64, MaskSpec::window(17), 0.1f, 0.0f, /*seed=*/6});
  const GradientRows rows = all_gradient_rows(of.problem);
  const HalfGradients want = unfused_backward(of.problem, of.inputs_with_forward(), rows, volta());
  for (const TestLayout layout : kTestLayouts) {
    const TensorShape queries = query_shape(of.problem), keys = key_shape(of.problem);
    const LaidOutTensor q(of.owned.q, queries, layout), k(of.owned.k, keys, layout);
    const LaidOutTensor v(of.owned.v, keys, layout), d_o(of.d_o, queries, layout);
    const LaidOutTensor o(of.o, queries, layout);
    const HalfGradients got = unfused_backward(
        of.problem, {q.tensor(), k.tensor(), v.tensor(), d_o.tensor(), o.tensor(), of.lse}, rows,
        volta());
    expect_same_bits(got.dq, want.dq.data());
    expect_same_bits(got.dk, want.dk.data());
    expect_same_bits(got.dv, want.dv.data());
  }
}

TEST(UnfusedBackward, Fp16AccumulatorsAreLessExactThanFp32) {
  const Case of({1, 2, 256, 256, 64});
  const GradientErrors narrow = of.errors(of.inputs(), volta(Accumulator::kFp16));
  const GradientErrors wide = of.errors(of.inputs(), volta());
  EXPECT_GT(narrow.dq.rel_l2, 1.5 * wide.dq.rel_l2);
  EXPECT_GT(narrow.dk.rel_l2, 1.5 * wide.dk.rel_l2);
  EXPECT_GT(narrow.dv.rel_l2, 1.5 * wide.dv.rel_l2);
  EXPECT_LE(narrow.dq.rel_l2, 0x1p-7);
}

TEST(UnfusedBackward, Fp16SumsGoOnOverTheHeadsOfAGroup) {
  Problem problem{1, 8, 64, 64, 64};
  problem.heads_k = 1;
  const Case grouped(problem);
  problem.heads_k = 8;
  const Case apart(problem);
  const auto error_of_dv = [](const Case& of) {
    return of.errors(of.inputs(), volta(Accumulator::kFp16)).dv.rel_l2;
  };
  // Eight times as many roundings.
  EXPECT_GT(error_of_dv(grouped), 1.5 * error_of_dv(apart));
  EXPECT_LT(error_of_dv(grouped), 6 * error_of_dv(apart));
}

}  // namespace
}  // namespace sparkbench
