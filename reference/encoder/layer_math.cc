#include "reference/encoder/layer_math.h"

#include <algorithm>
#include <cmath>

#include "reference/encoder/token_rows.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/parallel.h"
#include "reference/tensors/visible_runs.h"

namespace sparkbench {
namespace {

constexpr std::size_t kColumnsPerTask = 64;  // of a product

/// Four sums at a time, so that no addition waits for the previous one.
double dot(std::span<const double> a, std::span<const double> b) {
  double sums[4] = {};
  std::size_t k = 0;
  for (; k + 4 <= a.size(); k += 4) {
    for (std::size_t i = 0; i < 4; ++i) sums[i] += a[k + i] * b[k + i];
  }
  for (; k < a.size(); ++k) sums[0] += a[k] * b[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// A row's weights over its keys: their tokens, P, and the dropout factors.
struct ExactWeights {
  std::vector<std::size_t> keys;
  std::vector<double> p, keep;
};

/// A head's columns of a [tokens, hidden] matrix.
class ExactHead {
 public:
  ExactHead(const Problem& problem, const Visibility& visibility, int head)
      : problem_(problem),
        visibility_(visibility),
        head_(head),
        first_(static_cast<std::size_t>(head) * static_cast<std::size_t>(problem.head_dim)) {}

  template <class Values>
  auto of(Values& matrix, std::size_t row) const {
    return matrix.row(row).subspan(first_, static_cast<std::size_t>(problem_.head_dim));
  }

  ExactWeights weights(std::span<const double> q, const Matrix<double>& k, int sequence,
                       int row) const {
    const QueryRow query{sequence, head_, row};
    ExactWeights weights = visible(query);
    double largest = -INFINITY, sum = 0;
    for (const std::size_t key : weights.keys) {
      weights.p.push_back(problem_.scale() * dot(q, of(k, key)));
      largest = std::max(largest, weights.p.back());
    }
    for (double& p : weights.p) sum += p = std::exp(p - largest);
    for (double& p : weights.p) p /= sum;
    return weights;
  }

 private:
  /// Leaves P empty.
  ExactWeights visible(const QueryRow& query) const {
    ExactWeights weights;
    const std::size_t first = first_token(problem_, query.batch);
    const double scale = exact_keep_scale(problem_);
    for (const Range& run : visibility_.of(query)) {
      std::vector<std::uint8_t> kept(static_cast<std::size_t>(run.size()), 1);
      if (problem_.dropout().threshold != 0) fill_keep_mask(problem_, query, run.begin, kept);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        weights.keys.push_back(first + static_cast<std::size_t>(run.begin) + i);
        weights.keep.push_back(kept[i] ? scale : 0.0);
      }
    }
    return weights;
  }

  const Problem& problem_;
  const Visibility& visibility_;
  int head_;
  std::size_t first_;
};

void add_scaled(double factor, std::span<const double> from, std::span<double> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// Calls visit(head, weights, i) for each row of each head; `i` counts from the first token.
template <class Visit>
void for_each_row(const Problem& problem, const Matrix<double>& q, const Matrix<double>& k,
                  std::size_t first, Visit visit) {
  const Visibility visibility(problem);
  const std::vector<SequenceRows> sequences = sequences_of_tokens(problem, first, q.rows);
  parallel_for(static_cast<std::size_t>(problem.heads), [&](std::size_t h) {
    const ExactHead head(problem, visibility, static_cast<int>(h));
    std::size_t i = 0;
    for (const SequenceRows& rows : sequences) {
      for (int row = rows.first; row < rows.first + rows.count; ++row, ++i) {
        visit(head, head.weights(head.of(q, i), k, rows.sequence, row), i);
      }
    }
  });
}

Matrix<double> attend(const Problem& problem, const Matrix<double>& q, const Matrix<double>& k,
                      const Matrix<double>& v, int first_row) {
  Matrix<double> o(q.rows, q.columns);
  for_each_row(problem, q, k, static_cast<std::size_t>(first_row),
               [&](const ExactHead& head, const ExactWeights& weights, std::size_t i) {
                 for (std::size_t j = 0; j < weights.p.size(); ++j) {
                   add_scaled(weights.p[j] * weights.keep[j], head.of(v, weights.keys[j]),
                              head.of(o, i));
                 }
               });
  return o;
}

AttentionGradients<double> attend_backward(const Problem& problem, const Matrix<double>& q,
                                           const Matrix<double>& k, const Matrix<double>& v,
                                           const Matrix<double>& d_o) {
  const Matrix<double> zeros(q.rows, q.columns);
  AttentionGradients<double> gradients{zeros, zeros, zeros};
  // dS = P (dP keep - sum of P dP keep), scaled, for one row.
  const auto row_backward = [&](const ExactHead& head, const ExactWeights& weights, std::size_t i) {
    std::vector<double> dp(weights.p.size());
    double delta = 0;
    for (std::size_t j = 0; j < dp.size(); ++j) {
      dp[j] = weights.keep[j] * dot(head.of(d_o, i), head.of(v, weights.keys[j]));
      delta += weights.p[j] * dp[j];
    }
    for (std::size_t j = 0; j < dp.size(); ++j) {
      const std::size_t key = weights.keys[j];
      const double ds = problem.scale() * weights.p[j] * (dp[j] - delta);
      add_scaled(weights.p[j] * weights.keep[j], head.of(d_o, i), head.of(gradients.dv, key));
      add_scaled(ds, head.of(k, key), head.of(gradients.dq, i));
      add_scaled(ds, head.of(q, i), head.of(gradients.dk, key));
    }
  };
  for_each_row(problem, q, k, 0, row_backward);
  return gradients;
}

HalfMatrix half_matrix(const Matrix<float>& matrix, std::size_t first, std::size_t rows) {
  HalfMatrix halves(rows, matrix.columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::ranges::transform(matrix.row(first + i), halves.row(i), to_half);
  }
  return halves;
}

}  // namespace

AttentionFunctions<double> exact_attention(const Problem& problem) {
  return {[problem](const Matrix<double>& q, const Matrix<double>& k, const Matrix<double>& v,
                    int first_row) { return attend(problem, q, k, v, first_row); },
          [problem](const Matrix<double>& q, const Matrix<double>& k, const Matrix<double>& v,
                    const Matrix<double>& d_o) { return attend_backward(problem, q, k, v, d_o); }};
}

Matrix<double> ExactMath::product(const Matrix<double>& a, const Matrix<double>& b) {
  Matrix<double> c(a.rows, b.rows);
  parallel_for((b.rows + kColumnsPerTask - 1) / kColumnsPerTask, [&](std::size_t task) {
    const std::size_t first = task * kColumnsPerTask;
    const std::size_t end = std::min(first + kColumnsPerTask, b.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
      for (std::size_t j = first; j < end; ++j) c.row(i)[j] = dot(a.row(i), b.row(j));
    }
  });
  return c;
}

Matrix<float> HalfMath::product(const Matrix<float>& a, const Matrix<float>& b) const {
  Matrix<float> c(a.rows, b.rows);
  const HalfMatrix rows = half_matrix(a, 0, a.rows);
  parallel_for((b.rows + kColumnsPerTask - 1) / kColumnsPerTask, [&](std::size_t task) {
    const std::size_t first = task * kColumnsPerTask;
    const std::size_t count = std::min(kColumnsPerTask, b.rows - first);
    const std::vector<float> part =
        tensor_core_matmul(tensor_cores, rows, half_matrix(b, first, count));
    for (std::size_t i = 0; i < a.rows; ++i) {
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * count), count,
                  c.row(i).begin() + static_cast<std::ptrdiff_t>(first));
    }
  });
  return c;
}

}  // namespace sparkbench
