#include "reference/exact.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/dropout_mask.h"
#include "reference/parallel.h"

namespace sparkbench {
namespace {

/// Rows of one head that share one widened copy of K and V, which they pay back many times over.
constexpr std::size_t kRowsPerTask = 64;

/// One head of K and V, widened, with the index that the inner loops run over innermost.
class WidenedHead {
 public:
  WidenedHead(const Problem& problem, const ForwardInputs& inputs, int batch, int head)
      : seqlen_(static_cast<std::size_t>(problem.seqlen_k)),
        head_dim_(static_cast<std::size_t>(problem.head_dim)),
        k_transposed_(seqlen_ * head_dim_),
        v_(seqlen_ * head_dim_) {
    for (std::size_t s = 0; s < seqlen_; ++s) {
      const std::size_t offset = row_offset(batch, static_cast<int>(s), head, problem.seqlen_k,
                                            problem.heads, problem.head_dim);
      for (std::size_t d = 0; d < head_dim_; ++d) {
        k_transposed_[d * seqlen_ + s] = to_float(inputs.k[offset + d]);
        v_[s * head_dim_ + d] = to_float(inputs.v[offset + d]);
      }
    }
  }

  /// scores[s] = q . K[s]
  void matmul_qk(const Half* q, std::span<double> scores) const {
    std::fill(scores.begin(), scores.end(), 0.0);
    for (std::size_t d = 0; d < head_dim_; ++d) {
      const double q_d = to_float(q[d]);
      const double* k_d = &k_transposed_[d * seqlen_];
      for (std::size_t s = 0; s < scores.size(); ++s) scores[s] += q_d * k_d[s];
    }
  }

  /// o = sum of weights[s] * V[s]
  void matmul_pv(std::span<const double> weights, std::span<double> o) const {
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const double* v_s = &v_[s * head_dim_];
      for (std::size_t d = 0; d < o.size(); ++d) o[d] += weights[s] * v_s[d];
    }
  }

 private:
  std::size_t seqlen_;
  std::size_t head_dim_;
  std::vector<double> k_transposed_;  // [head_dim, seqlen_k]
  std::vector<double> v_;             // [seqlen_k, head_dim]
};

/// scores = softmax(scale * scores); returns the logarithm of the sum of exponentials.
double softmax(double scale, std::span<double> scores) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (double& score : scores) {
    score *= scale;
    maximum = std::max(maximum, score);
  }
  double sum = 0.0;
  for (double& score : scores) {
    score = std::exp(score - maximum);
    sum += score;
  }
  for (double& score : scores) score /= sum;
  return maximum + std::log(sum);
}

void apply_dropout(const Problem& problem, const QueryRow& r, std::span<double> weights) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) return;
  std::vector<std::uint8_t> keep(weights.size());
  fill_keep_mask(problem, r, keep);
  const double keep_scale = 256.0 / (256.0 - dropout.threshold);
  for (std::size_t s = 0; s < weights.size(); ++s) weights[s] *= keep[s] ? keep_scale : 0.0;
}

/// Writes the row's o, which must be 0 before, and returns its lse.
double attend(const Problem& problem, const Half* q, const QueryRow& r, const WidenedHead& head,
              std::span<double> o) {
  const int visible = visible_keys(r.row, problem.seqlen_q, problem.seqlen_k, problem.causal);
  if (visible == 0) return -std::numeric_limits<double>::infinity();
  std::vector<double> weights(static_cast<std::size_t>(visible));
  head.matmul_qk(q, weights);
  const double lse = softmax(problem.scale(), weights);
  apply_dropout(problem, r, weights);
  head.matmul_pv(weights, o);
  return lse;
}

}  // namespace

ExactRows exact_forward(const Problem& problem, const ForwardInputs& inputs,
                        std::span<const QueryRow> rows) {
  check_forward(problem, inputs, rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  ExactRows result{std::vector<double>(rows.size() * head_dim), std::vector<double>(rows.size())};
  const auto runs = split_by_head(rows, kRowsPerTask);
  parallel_for(runs.size(), [&](std::size_t run) {
    const WidenedHead head(problem, inputs, runs[run].front().batch, runs[run].front().head);
    for (const QueryRow& r : runs[run]) {
      const auto index = static_cast<std::size_t>(&r - rows.data());
      const Half* q = &inputs.q[row_offset(r.batch, r.row, r.head, problem.seqlen_q, problem.heads,
                                           problem.head_dim)];
      const std::span<double> o = std::span(result.o).subspan(index * head_dim, head_dim);
      result.lse[index] = attend(problem, q, r, head, o);
    }
  });
  return result;
}

}  // namespace sparkbench
