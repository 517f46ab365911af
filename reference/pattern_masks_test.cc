// Patterns in the references, against a dense fp64 softmax whose mask comes from the atoms'
// definitions in words.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/strided/pass_dropout.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/test_pattern_masks.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

using Sees = std::function<bool(int head, int p, int k)>;

Problem problem_of(const WordedPattern& pattern, int seqlen_q, float dropout_p) {
  return with_pattern({.batch = 2,
                       .heads = 4,
                       .seqlen_q = seqlen_q,
                       .seqlen_k = 40,
                       .head_dim = 8,
                       .dropout_p = dropout_p,
                       .seed = 11,
                       .heads_k = 2},
                      pattern.spec);
}

/// The definition, one [seqlen_q, seqlen_k] matrix per (batch, head).
class Dense {
 public:
  Dense(const Problem& problem, const OwnedInputs& inputs, const std::vector<Half>& d_o,
        const Sees& sees)
      : problem_(problem), inputs_(inputs), d_o_(d_o), sees_(sees), rows_(all_rows(problem)) {
    const auto dim = static_cast<std::size_t>(problem.head_dim);
    gradients = zero_gradients<double>(problem, all_gradient_rows(problem));
    forward.o.resize(rows_.size() * dim);
    forward.lse.resize(rows_.size());
    for (const QueryRow& r : rows_) add_row(r);
  }

  ExactRows forward;
  ExactGradients gradients;

 private:
  double q(const QueryRow& r, int d) const {
    return to_float(inputs_.q[row_offset(r.batch, r.row, r.head, problem_.seqlen_q, problem_.heads,
                                         problem_.head_dim) +
                              static_cast<std::size_t>(d)]);
  }
  double d_o(const QueryRow& r, int d) const {
    return to_float(d_o_[row_offset(r.batch, r.row, r.head, problem_.seqlen_q, problem_.heads,
                                    problem_.head_dim) +
                         static_cast<std::size_t>(d)]);
  }
  double of_key(const std::vector<Half>& tensor, const QueryRow& r, int key, int d) const {
    return to_float(tensor[row_offset(r.batch, key, problem_.key_head(r.head), problem_.seqlen_k,
                                      problem_.key_heads(), problem_.head_dim) +
                           static_cast<std::size_t>(d)]);
  }
  /// Element d of a row of dK or dV, in the order of all_gradient_rows(): batch, head, row.
  double& of_key(std::vector<double>& gradient, const QueryRow& r, int key, int d) const {
    const int row =
        (r.batch * problem_.key_heads() + problem_.key_head(r.head)) * problem_.seqlen_k + key;
    return gradient[static_cast<std::size_t>(row * problem_.head_dim + d)];
  }

  void add_row(const QueryRow& r) {
    const int dim = problem_.head_dim, p = r.row + problem_.seqlen_k - problem_.seqlen_q;
    const auto index = r.lse_index(problem_);
    const double scale = problem_.scale(), keep_scale = 256.0 / (256.0 - threshold());
    std::vector<double> weights(static_cast<std::size_t>(problem_.seqlen_k));
    double sum = 0.0;
    for (int key = 0; key < problem_.seqlen_k; ++key) {
      double score = 0.0;
      for (int d = 0; d < dim; ++d) score += q(r, d) * of_key(inputs_.k, r, key, d);
      if (sees_(r.head, p, key)) weights[static_cast<std::size_t>(key)] = std::exp(scale * score);
      sum += weights[static_cast<std::size_t>(key)];
    }
    forward.lse[index] = std::log(sum);
    if (sum == 0.0) return;
    std::vector<double> dp(weights.size());
    double delta = 0.0;
    for (int key = 0; key < problem_.seqlen_k; ++key) {
      const auto k = static_cast<std::size_t>(key);
      weights[k] /= sum;
      const double kept = is_kept(r, key) ? keep_scale : 0.0;
      for (int d = 0; d < dim; ++d) {
        forward.o[index * static_cast<std::size_t>(dim) + static_cast<std::size_t>(d)] +=
            kept * weights[k] * of_key(inputs_.v, r, key, d);
        of_key(gradients.dv, r, key, d) += kept * weights[k] * d_o(r, d);
        dp[k] += kept * d_o(r, d) * of_key(inputs_.v, r, key, d);
      }
      delta += weights[k] * dp[k];
    }
    for (int key = 0; key < problem_.seqlen_k; ++key) {
      const auto k = static_cast<std::size_t>(key);
      const double ds = scale * weights[k] * (dp[k] - delta);
      for (int d = 0; d < dim; ++d) {
        gradients.dq[index * static_cast<std::size_t>(dim) + static_cast<std::size_t>(d)] +=
            ds * of_key(inputs_.k, r, key, d);
        of_key(gradients.dk, r, key, d) += ds * q(r, d);
      }
    }
  }
  unsigned threshold() const { return problem_.dropout().threshold; }
  bool is_kept(const QueryRow& r, int key) const {
    if (threshold() == 0) return true;
    return dropout_keeps(problem_.dropout(),
                         dropout_views_of(problem_).place(r.batch, r.head, r.row, key));
  }

  const Problem& problem_;
  const OwnedInputs& inputs_;
  const std::vector<Half>& d_o_;
  const Sees& sees_;
  std::vector<QueryRow> rows_;
};

/// A pattern's problem, its inputs, and the definition's results.
struct Worded {
  Worded(const WordedPattern& pattern, int seqlen_q, float dropout_p)
      : problem(problem_of(pattern, seqlen_q, dropout_p)),
        owned(make_inputs(problem, Distribution::kNormal, 5)),
        d_o(make_gradient_input(problem, Distribution::kNormal, 5)),
        dense(problem, owned, d_o, pattern.sees) {}

  BackwardInputs backward_inputs() const { return {owned.q, owned.k, owned.v, d_o}; }

  Problem problem;
  OwnedInputs owned;
  std::vector<Half> d_o;
  Dense dense;
};

void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities
    ASSERT_LE(std::abs(got[i] - want[i]), 1e-12 * (1 + std::abs(want[i]))) << what << " " << i;
  }
}

/// Calls check(worded, what) for each pattern: equal lengths with dropout, and fewer rows without.
template <class Check>
void for_each_worded(Check check) {
  for (const WordedPattern& pattern : worded_patterns()) {
    for (const auto& [seqlen_q, dropout_p] : {std::pair{40, 0.2f}, {23, 0.0f}}) {
      check(Worded(pattern, seqlen_q, dropout_p),
            pattern.spec + " of " + std::to_string(seqlen_q) + " rows");
    }
  }
}

TEST(PatternMasks, ExactForwardIsADenseMaskedSoftmax) {
  for_each_worded([](const Worded& of, const std::string& what) {
    const ExactRows got = exact_forward(of.problem, of.owned.view(), all_rows(of.problem));
    expect_near(got.o, of.dense.forward.o, what);
    expect_near(got.lse, of.dense.forward.lse, what + ", lse");
  });
}

TEST(PatternMasks, ExactGradientsAreThoseOfADenseSoftmax) {
  for_each_worded([](const Worded& of, const std::string& what) {
    const ExactGradients got =
        exact_backward(of.problem, of.backward_inputs(), all_gradient_rows(of.problem));
    expect_near(got.dq, of.dense.gradients.dq, what + ", dq");
    expect_near(got.dk, of.dense.gradients.dk, what + ", dk");
    expect_near(got.dv, of.dense.gradients.dv, what + ", dv");
  });
}

TEST(PatternMasks, UnfusedErrsAsFp16Does) {
  const TensorCores volta{arithmetic_profile("volta"), Accumulator::kFp32};
  for_each_worded([&](const Worded& of, const std::string& what) {
    const auto rows = all_rows(of.problem);
    const ErrorMetrics error =
        error_metrics(unfused_forward(of.problem, of.owned.view(), rows, volta),
                      exact_forward(of.problem, of.owned.view(), rows));
    EXPECT_EQ(error.nonfinite, 0u) << what;
    EXPECT_LE(error.rel_l2, 2e-3) << what;
    const auto gradient_rows = all_gradient_rows(of.problem);
    const GradientErrors errors =
        gradient_errors(unfused_backward(of.problem, of.backward_inputs(), gradient_rows, volta),
                        exact_backward(of.problem, of.backward_inputs(), gradient_rows));
    for (const ErrorMetrics& gradient : {errors.dq, errors.dk, errors.dv}) {
      EXPECT_EQ(gradient.nonfinite, 0u) << what;
      EXPECT_LE(gradient.rel_l2, 4e-3) << what;
    }
  });
}

std::vector<std::uint16_t> bits(const std::vector<Half>& values) {
  std::vector<std::uint16_t> all;
  for (const Half value : values) all.push_back(value.bits);
  return all;
}

/// The same mask by its name and as an equivalent pattern.
TEST(PatternMasks, OfAWindowHasTheWindowsBits) {
  Problem window{.seqlen_q = 37, .seqlen_k = 70, .head_dim = 16, .dropout_p = 0.1f, .seed = 3};
  window.mask = MaskSpec::window(21);
  Problem pattern = window;
  pattern.mask = MaskSpec::full();
  pattern = with_pattern(pattern, "window:21+window:5");
  const OwnedInputs owned = make_inputs(window, Distribution::kNormal, 5);
  const std::vector<Half> d_o = make_gradient_input(window, Distribution::kNormal, 5);
  const BackwardInputs inputs{owned.q, owned.k, owned.v, d_o};
  const auto rows = all_rows(window);
  const auto gradient_rows = all_gradient_rows(window);
  for (const char* const profile : {"volta", "ampere", "hopper"}) {
    for (const Accumulator accumulator : {Accumulator::kFp16, Accumulator::kFp32}) {
      const TensorCores cores{arithmetic_profile(profile), accumulator};
      const ForwardRows a = unfused_forward(window, owned.view(), rows, cores);
      const ForwardRows b = unfused_forward(pattern, owned.view(), rows, cores);
      EXPECT_TRUE(bits(a.o) == bits(b.o) && a.lse == b.lse) << profile;
      const HalfGradients c = unfused_backward(window, inputs, gradient_rows, cores);
      const HalfGradients d = unfused_backward(pattern, inputs, gradient_rows, cores);
      EXPECT_TRUE(bits(c.dq) == bits(d.dq) && bits(c.dk) == bits(d.dk) && bits(c.dv) == bits(d.dv))
          << profile;
    }
  }
  EXPECT_EQ(exact_forward(window, owned.view(), rows).o,
            exact_forward(pattern, owned.view(), rows).o);
  EXPECT_EQ(exact_backward(window, inputs, gradient_rows).dk,
            exact_backward(pattern, inputs, gradient_rows).dk);
}

TEST(PatternMasks, OfSomeRowsAreThoseOfAll) {
  const WordedPattern pattern = worded_patterns().back();
  const Worded of(pattern, 40, 0.2f);
  const TensorCores volta{arithmetic_profile("volta"), Accumulator::kFp32};
  const auto all = all_rows(of.problem);
  const auto whole = unfused_forward(of.problem, of.owned.view(), all, volta);
  const std::vector<QueryRow> some = {{0, 1, 3}, {0, 1, 39}, {1, 2, 17}};
  const auto part = unfused_forward(of.problem, of.owned.view(), some, volta);
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::size_t at = some[i].lse_index(of.problem);
    EXPECT_EQ(part.lse[i], whole.lse[at]);
    for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(part.o[8 * i + d].bits, whole.o[8 * at + d].bits);
  }
}

}  // namespace
}  // namespace sparkbench
