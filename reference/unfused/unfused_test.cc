#include "reference/unfused/unfused.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/mask/test_masks.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {
namespace {

TensorCores volta_cores(Accumulator accumulator = Accumulator::kFp32) {
  return {arithmetic_profile("volta"), accumulator};
}

Problem problem_of(int seqlen_q, int seqlen_k, const MaskSpec& mask, float dropout_p) {
  Problem problem;
  problem.batch = 2;
  problem.heads = 2;
  problem.seqlen_q = seqlen_q;
  problem.seqlen_k = seqlen_k;
  problem.mask = mask;
  problem.dropout_p = dropout_p;
  problem.seed = 99;
  return problem;
}

TEST(Unfused, TwoQueriesOfTwoKeysByHand) {
  // The first case of exact_test.cc is exact in fp16 too: exp of rounded ln 3 is nearly 3, and
  // rounding does not change P = 3/4 1/4.
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = problem.head_dim = 2;
  problem.softmax_scale = std::log(3.0f);
  const Half zero = to_half(0), one = to_half(1);
  const std::vector<Half> identity = {one, zero, zero, one};
  const std::vector<Half> v = {to_half(1), to_half(2), to_half(3), to_half(4)};
  const ForwardRows rows =
      unfused_forward(problem, {identity, identity, v}, all_rows(problem), volta_cores());
  const float want[] = {1.5f, 2.5f, 2.5f, 3.5f};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(std::abs(to_float(rows.o[i]) - want[i]), 2e-3f);
  EXPECT_LE(std::abs(rows.lse[0] - std::log(4.0f)), 4e-4f);
}

TEST(Unfused, IsAsCloseAsFp16IntermediatesAllow) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{70, 70}, {33, 129}, {129, 33}, {1, 1}}) {
    for (const MaskSpec& mask : kTestMasks) {
      for (const float dropout_p : {0.0f, 0.17f}) {
        const Problem problem = problem_of(seqlen_q, seqlen_k, mask, dropout_p);
        const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
        const ForwardInputs inputs = owned.view();
        const auto rows = all_rows(problem);
        const ErrorMetrics metrics =
            error_metrics(unfused_forward(problem, inputs, rows, volta_cores()),
                          exact_forward(problem, inputs, rows));
        EXPECT_EQ(metrics.nonfinite, 0u);
        EXPECT_LE(metrics.rel_l2, 0x1p-10);
        EXPECT_LE(metrics.lse_max_abs, 0x1p-9);  // half a unit of a score between 4 and 8
      }
    }
  }
}

TensorCores hopper_bf16() {
  return {arithmetic_profile("hopper"), Accumulator::kFp32, 0, ElementType::kBf16};
}

TEST(Unfused, Bf16IntermediatesAreRoundedByHand) {
  // S = [0, x]: P = 1 / (1 + e^x), rounded to 8 digits. With V = [1, 0] O is P itself.
  Problem problem;
  problem.seqlen_q = 1;
  problem.seqlen_k = 2;
  problem.head_dim = 1;
  problem.softmax_scale = 1.0f;
  const std::vector<Half> q = {to_half(1)}, k = {to_half(0), to_half(2)}, v = {to_half(1), {0}};
  const ForwardRows rows = unfused_forward(problem, {q, k, v}, all_rows(problem), hopper_bf16());
  // 1 / (1 + e^2) = 0.119203 lies between 244 and 245 of 2^-11.
  EXPECT_EQ(to_float(rows.o[0]), 244 * 0x1p-11f);
}

TEST(Unfused, IsAsCloseAsBf16IntermediatesAllow) {
  for (const float dropout_p : {0.0f, 0.17f}) {
    const Problem problem = problem_of(70, 129, MaskSpec::causal(), dropout_p);
    const OwnedInputs owned =
        make_inputs(problem, Distribution::kNormal, 4, 1.0f, ElementType::kBf16);
    const auto rows = all_rows(problem);
    const ErrorMetrics metrics =
        error_metrics(unfused_forward(problem, owned.view(), rows, hopper_bf16()),
                      exact_forward(problem, owned.view(), rows));
    EXPECT_EQ(metrics.nonfinite, 0u);
    EXPECT_GE(metrics.rel_l2, 0x1p-10);  // fp16's largest, above
    EXPECT_LE(metrics.rel_l2, 0x1p-7);
  }
}

/// fp16 has no number below 2^-24: this P would vanish.
TEST(Unfused, Bf16KeepsSmallProbabilities) {
  Problem problem;
  problem.seqlen_q = 1;
  problem.seqlen_k = 2;
  problem.head_dim = 1;
  problem.softmax_scale = 1.0f;
  const std::vector<Half> q = {to_half(1)}, k = {to_half(0), to_half(18)},
                          v = {to_half(32768), {0}};
  const float want = 32768 / (1 + std::exp(18.0f));
  const auto o = [&](const TensorCores& tensor_cores) {
    return to_float(unfused_forward(problem, {q, k, v}, all_rows(problem), tensor_cores).o.front());
  };
  EXPECT_NEAR(o(hopper_bf16()), want, 0x1p-8f * want);
  EXPECT_EQ(o(volta_cores()), 0.0f);
}

TEST(Unfused, DropsTheElementsThatExactDrops) {
  // V = identity, so O is the row of P after dropout.
  Problem problem = problem_of(48, 64, MaskSpec::full(), 0.3f);
  const OwnedInputs owned = make_inputs(problem, Distribution::kUniform, 4);
  std::vector<Half> v(problem.k_elements(), to_half(0.0f));
  for (int b = 0; b < problem.batch; ++b) {
    for (int h = 0; h < problem.heads; ++h) {
      for (int s = 0; s < 64; ++s) {
        v[row_offset(b, s, h, 64, problem.heads, 64) + static_cast<std::size_t>(s)] = to_half(1.0f);
      }
    }
  }
  const auto rows = all_rows(problem);
  const ForwardInputs inputs{owned.q, owned.k, v};
  const ForwardRows unfused = unfused_forward(problem, inputs, rows, volta_cores());
  const ExactRows exact = exact_forward(problem, inputs, rows);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    const QueryRow& r = rows[i / 64];
    const bool keeps = dropout_keeps(
        problem.dropout(), static_cast<std::uint32_t>(r.batch * problem.heads + r.head),
        static_cast<std::uint32_t>(r.row), static_cast<std::uint32_t>(i % 64));
    ASSERT_EQ(to_float(unfused.o[i]) != 0.0f, keeps);
    ASSERT_EQ(exact.o[i] != 0.0, keeps);
    kept += keeps;
  }
  EXPECT_GT(kept, 0u);
}

TEST(Unfused, FullyMaskedRowsAreZeroAndMinusInfinity) {
  const Problem problem = problem_of(5, 3, MaskSpec::causal(), 0.0f);
  const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  const std::vector<QueryRow> rows = {{1, 1, 0}, {1, 1, 1}, {1, 1, 2}};
  const ForwardRows unfused = unfused_forward(problem, owned.view(), rows, volta_cores());
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(unfused.o[i].bits, 0);
  EXPECT_EQ(unfused.lse[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(unfused.lse[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isfinite(unfused.lse[2]));
}

TEST(Unfused, ARowAloneIsThatAmongOthers) {
  const Problem problem = problem_of(100, 90, MaskSpec::window(33), 0.1f);
  const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  const ForwardInputs inputs = owned.view();
  const ForwardRows all = unfused_forward(problem, inputs, all_rows(problem), volta_cores());
  const std::vector<QueryRow> row = {{1, 0, 77}};
  const ForwardRows alone = unfused_forward(problem, inputs, row, volta_cores());
  const std::size_t index = row[0].lse_index(problem);
  EXPECT_EQ(alone.lse[0], all.lse[index]);
  for (std::size_t d = 0; d < 64; ++d) EXPECT_EQ(alone.o[d].bits, all.o[index * 64 + d].bits);
}

TEST(Unfused, ReadsEveryLayoutInPlace) {
  const Problem problem = problem_of(40, 50, MaskSpec::band(20, 5), 0.1f);
  const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  const auto rows = all_rows(problem);
  const ForwardRows want = unfused_forward(problem, owned.view(), rows, volta_cores());
  for (const TestLayout layout : kTestLayouts) {
    const LaidOutTensor q(owned.q, query_shape(problem), layout);
    const LaidOutTensor k(owned.k, key_shape(problem), layout);
    const LaidOutTensor v(owned.v, key_shape(problem), layout);
    const ForwardRows got =
        unfused_forward(problem, {q.tensor(), k.tensor(), v.tensor()}, rows, volta_cores());
    EXPECT_EQ(got.lse, want.lse) << name_of(layout);
    for (std::size_t i = 0; i < want.o.size(); ++i) ASSERT_EQ(got.o[i].bits, want.o[i].bits);
  }
}

TEST(Unfused, Fp16AccumulatorsAreLessExactThanFp32) {
  const Problem problem = problem_of(64, 256, MaskSpec::full(), 0.0f);
  const OwnedInputs owned = make_inputs(problem, Distribution::kNormal, 4);
  const ForwardInputs inputs = owned.view();
  const auto rows = all_rows(problem);
  const ExactRows exact = exact_forward(problem, inputs, rows);
  const double narrow =
      error_metrics(unfused_forward(problem, inputs, rows, volta_cores(Accumulator::kFp16)), exact)
          .rel_l2;
  const double wide =
      error_metrics(unfused_forward(problem, inputs, rows, volta_cores()), exact).rel_l2;
  EXPECT_GT(narrow, 1.5 * wide);
  EXPECT_LE(narrow, 0x1p-7);
}

}  // namespace
}  // namespace sparkbench
