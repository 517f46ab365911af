#include "reference/exact/exact.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/exact/wide_head.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/parallel.h"
#include "reference/tensors/visible_runs.h"

namespace sparkbench {
namespace {

/// Rows of one head that share one widened copy of the keys and values that any of them sees.
constexpr std::size_t kRowsPerTask = 64;

/// The keys and values of one key head.
struct Head {
  WideHead k, v;
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

/// weights[i] belongs to key first_key + i.
void apply_dropout(const Problem& problem, const QueryRow& r, int first_key,
                   std::span<double> weights) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) return;
  std::vector<std::uint8_t> keep(weights.size());
  fill_keep_mask(problem, r, first_key, keep);
  const double keep_scale = exact_keep_scale(problem);
  for (std::size_t s = 0; s < weights.size(); ++s) weights[s] *= keep[s] ? keep_scale : 0.0;
}

/// Adds up the row's o, which must be 0 before, over the visible keys, and returns its lse.
double attend(const Problem& problem, const VisibleRuns& keys, std::span<const Half> q,
              const QueryRow& r, const Head& head, std::span<double> o) {
  if (keys.empty()) return -std::numeric_limits<double>::infinity();
  const std::vector<double> wide_q = widen(q);
  std::vector<double> weights(size_of(keys));
  for_each_part(keys, std::span(weights), [&](const Range& run, std::span<double> of_run) {
    head.k.dot_rows(wide_q, run.begin, of_run);
  });
  const double lse = softmax(problem.scale(), weights);
  for_each_part(keys, std::span(weights), [&](const Range& run, std::span<double> of_run) {
    apply_dropout(problem, r, run.begin, of_run);
    head.v.add_rows(of_run, run.begin, o);
  });
  return lse;
}

}  // namespace

ExactRows exact_forward(const Problem& problem, const ForwardInputs& inputs,
                        std::span<const QueryRow> rows) {
  check_forward(problem, inputs, rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const TensorShape keys = key_shape(problem);
  ExactRows result{std::vector<double>(rows.size() * head_dim), std::vector<double>(rows.size())};
  const Visibility visibility(problem);
  const auto runs = split_by_head(rows, kRowsPerTask);
  parallel_for(runs.size(), [&](std::size_t run) {
    const KeyRow key = key_row_of(problem, runs[run].front());
    const std::vector<VisibleRuns> seen = visibility.of_each(runs[run]);
    const Range hull = hull_of(seen);
    const Head kv{{inputs.k, keys, key.batch, key.head, hull},
                  {inputs.v, keys, key.batch, key.head, hull}};
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const QueryRow& r = runs[run][i];
      const auto index = static_cast<std::size_t>(&r - rows.data());
      const std::span<double> o = std::span(result.o).subspan(index * head_dim, head_dim);
      result.lse[index] =
          attend(problem, seen[i], row_of(inputs.q, query_shape(problem), r), r, kv, o);
    }
  });
  return result;
}

RoundedForward rounded_forward(const Problem& problem, const ForwardInputs& inputs,
                               std::span<const QueryRow> rows) {
  const ExactRows exact = exact_forward(problem, inputs, rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  RoundedForward forward{std::vector<Half>(problem.q_elements()),
                         std::vector<float>(problem.lse_elements())};
  const TensorShape queries = query_shape(problem);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t at = queries.row_offset(rows[r].batch, rows[r].row, rows[r].head);
    for (std::size_t d = 0; d < head_dim; ++d) {
      forward.o[at + d] = to_half(static_cast<float>(exact.o[r * head_dim + d]));
    }
    forward.lse[rows[r].lse_index(problem)] = static_cast<float>(exact.lse[r]);
  }
  return forward;
}

}  // namespace sparkbench
