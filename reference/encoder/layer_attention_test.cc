// The layers' attention on the host against the definition, for varlen and patterns.
#include <gtest/gtest.h>

#include <string>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "reference/encoder/half_attention.h"
#include "reference/encoder/token_rows.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

Problem problem_of(int seqlen) {
  Problem problem;
  problem.heads = 2;
  problem.head_dim = 16;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  problem.mask = MaskSpec::causal();
  problem.dropout_p = 0.25f;
  problem.seed = 3;
  return problem;
}

/// Lengths: 0, 1, one tile, and more.
Problem packed_problem() {
  return with_lengths(problem_of(1),
                      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{
                          {0, 0}, {1, 1}, {37, 37}, {0, 0}, {128, 128}, {5, 5}}));
}

Problem pattern_problem(const char* pattern) {
  Problem problem = problem_of(40);
  problem.mask = MaskSpec::full();
  problem.sparse = make_sparse_mask(pattern, 40, 40);
  return problem;
}

std::vector<Problem> problems() {
  Problem asked = problem_of(33);
  asked.dropout_scale = DropoutScale::kAsked;
  return {packed_problem(), pattern_problem("sink:4+window:9"), pattern_problem("window:5/full"),
          pattern_problem("strided:3"), asked};
}

struct Inputs {
  explicit Inputs(const Problem& problem)
      : q(of(problem, 1)), k(of(problem, 2)), v(of(problem, 3)), d_o(of(problem, 4)) {}

  std::vector<Half> q, k, v, d_o;

 private:
  static std::vector<Half> of(const Problem& problem, std::uint64_t seed) {
    return make_input({Distribution::kNormal, seed, InputTensor::kQ, 1},
                      {1, static_cast<int>(problem.total_q()), problem.heads, problem.head_dim});
  }
};

template <class Real>
Matrix<Real> tokens_of(const Problem& problem, const std::vector<Half>& halves) {
  return matrix_of<Real>(halves, problem.total_q(),
                         static_cast<std::size_t>(problem.heads * problem.head_dim));
}

/// Compares with `rows` of a tensor of heads, [rows, head_dim].
template <class Row, class Real>
void expect_rows(const Problem& problem, const std::vector<Row>& rows,
                 const std::vector<double>& want, const Matrix<Real>& got, std::size_t first,
                 double tolerance) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  ASSERT_EQ(want.size(), rows.size() * head_dim);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t d = 0; d < head_dim; ++d) {
      const std::size_t column = static_cast<std::size_t>(rows[i].head) * head_dim + d;
      ASSERT_NEAR(got.row(token_of(problem, rows[i]) - first)[column], want[i * head_dim + d],
                  tolerance)
          << "sequence " << rows[i].batch << ", head " << rows[i].head << ", row " << rows[i].row;
    }
  }
}

TEST(ExactAttention, OfALayerIsTheDefinition) {
  for (const Problem& problem : problems()) {
    const Inputs inputs(problem);
    const auto attention = exact_attention(problem);
    const auto q = tokens_of<double>(problem, inputs.q), k = tokens_of<double>(problem, inputs.k),
               v = tokens_of<double>(problem, inputs.v);
    const std::vector<QueryRow> rows = all_rows(problem);
    const ExactRows want = exact_forward(problem, {inputs.q, inputs.k, inputs.v}, rows);
    expect_rows(problem, rows, want.o, attention.forward(q, k, v, 0), 0, 1e-12);
    const GradientRows all = all_gradient_rows(problem);
    const ExactGradients gradients =
        exact_backward(problem, {inputs.q, inputs.k, inputs.v, inputs.d_o}, all);
    const auto got = attention.backward(q, k, v, tokens_of<double>(problem, inputs.d_o));
    expect_rows(problem, all.dq, gradients.dq, got.dq, 0, 1e-12);
    expect_rows(problem, all.dkv, gradients.dk, got.dk, 0, 1e-12);
    expect_rows(problem, all.dkv, gradients.dv, got.dv, 0, 1e-12);
  }
}

TEST(ExactAttention, OfSomeTokensIsThatOfThose) {
  const Problem problem = packed_problem();
  const Inputs inputs(problem);
  const std::size_t first = 20, count = 30;  // spans two sequences
  const auto q = rows_from(tokens_of<double>(problem, inputs.q), first, count);
  const auto got = exact_attention(problem).forward(q, tokens_of<double>(problem, inputs.k),
                                                    tokens_of<double>(problem, inputs.v),
                                                    static_cast<int>(first));
  const std::vector<QueryRow> rows = query_rows_of_tokens(problem, first, count);
  EXPECT_EQ(rows.size(), 2 * count);
  const ExactRows want = exact_forward(problem, {inputs.q, inputs.k, inputs.v}, rows);
  expect_rows(problem, rows, want.o, got, first, 1e-12);
}

/// In fp16, a value of size 1 is off by a few 2^-11.
void expect_like_exact(const Problem& problem, const AttentionFunctions<float>& attention) {
  const Inputs inputs(problem);
  const auto q = tokens_of<float>(problem, inputs.q), k = tokens_of<float>(problem, inputs.k),
             v = tokens_of<float>(problem, inputs.v);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, {inputs.q, inputs.k, inputs.v}, rows);
  expect_rows(problem, rows, want.o, attention.forward(q, k, v, 0), 0, 0x1p-7);
  const GradientRows all = all_gradient_rows(problem);
  const ExactGradients gradients =
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, inputs.d_o}, all);
  const auto got = attention.backward(q, k, v, tokens_of<float>(problem, inputs.d_o));
  expect_rows(problem, all.dq, gradients.dq, got.dq, 0, 0x1p-6);
  expect_rows(problem, all.dkv, gradients.dk, got.dk, 0, 0x1p-6);
  expect_rows(problem, all.dkv, gradients.dv, got.dv, 0, 0x1p-6);
}

TEST(HalfAttention, OfALayerIsTheDefinitionRounded) {
  const ArithmeticProfile& volta = arithmetic_profile("volta");
  for (const Problem& problem : problems()) {
    expect_like_exact(problem, unfused_attention(problem, {volta}));
  }
}

TEST(HalfAttention, OfAKernelIsTheDefinitionRounded) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  for (const Problem& problem : problems()) {
    std::uint64_t findings = 0;
    expect_like_exact(
        problem, emulated_attention(
                     problem, kernel, {.profile = &arithmetic_profile("volta")},
                     [&](const EmulationReport& report) { findings += report.findings_total; }));
    EXPECT_EQ(findings, 0u);
  }
}

}  // namespace
}  // namespace sparkbench
