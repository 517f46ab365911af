#include "reference/exact/exact_backward.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "reference/exact/exact.h"
#include "reference/exact/wide_head.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/tensors/visible_runs.h"

namespace sparkbench {
namespace {

/// Rows of one head that share widened copies of the other side's rows that any of them sees.
constexpr std::size_t kBackwardRowsPerTask = 32;

/// The backward pass's inputs from the forward pass, for one query.
struct QueryStatistics {
  double lse = -std::numeric_limits<double>::infinity();
  double delta = 0.0;
};

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// [batch, heads, seqlen_q]; filled for the queries that the requested rows depend on.
std::vector<QueryStatistics> query_statistics(const Problem& problem, const BackwardInputs& inputs,
                                              const GradientRows& rows) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const TensorShape shape = query_shape(problem);
  const std::vector<QueryRow> queries = queries_needed_by(problem, rows);
  ExactRows forward;
  if (!inputs.has_forward()) {
    forward = exact_forward(problem, {inputs.q, inputs.k, inputs.v}, queries);
  }
  std::vector<QueryStatistics> statistics(problem.lse_elements());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::size_t index = queries[i].lse_index(problem);
    const std::vector<double> d_o = widen(row_of(inputs.d_o, shape, queries[i]));
    statistics[index] =
        inputs.has_forward()
            ? QueryStatistics{inputs.lse[index],
                              dot(d_o, widen(row_of(inputs.o, shape, queries[i])))}
            : QueryStatistics{forward.lse[i],
                              dot(d_o, std::span(forward.o).subspan(i * head_dim, head_dim))};
  }
  return statistics;
}

/// The visible part of a row or column of the attention matrix: on entry S = q . k and dP = d_o .
/// v, at the end dropout(P) and scale * dS.
class ScoreGradients {
 public:
  explicit ScoreGradients(std::size_t size) : scores_(size), dp_(size), keep_(size) {}

  std::span<double> scores() { return scores_; }
  std::span<double> dp() { return dp_; }
  std::span<std::uint8_t> keep() { return keep_; }

  /// queries[i] is the query of element i.
  void differentiate(const Problem& problem, std::span<const QueryStatistics> queries) {
    const double scale = problem.scale();
    const double keep_scale = exact_keep_scale(problem);
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const double p = std::exp(scale * scores_[i] - queries[i].lse);
      const double dropped_dp = keep_[i] ? keep_scale * dp_[i] : 0.0;
      scores_[i] = keep_[i] ? keep_scale * p : 0.0;
      dp_[i] = scale * p * (dropped_dp - queries[i].delta);
    }
  }
  std::span<const double> dropped_p() const { return scores_; }
  std::span<const double> scaled_ds() const { return dp_; }

 private:
  std::vector<double> scores_, dp_;
  std::vector<std::uint8_t> keep_;
};

/// WideHead's products over the rows of several intervals.
void dot_rows(const WideHead& head, std::span<const double> x, const VisibleRuns& runs,
              std::span<double> dots) {
  for_each_part(runs, dots, [&](const Range& run, std::span<double> of_run) {
    head.dot_rows(x, run.begin, of_run);
  });
}
void add_rows(const WideHead& head, std::span<const double> weights, const VisibleRuns& runs,
              std::span<double> sum) {
  for_each_part(runs, weights, [&](const Range& run, std::span<const double> of_run) {
    head.add_rows(of_run, run.begin, sum);
  });
}

/// Row `index` of a tensor [rows, head_dim].
std::span<double> row_at(std::vector<double>& rows, std::ptrdiff_t index, const Problem& problem) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  return std::span(rows).subspan(static_cast<std::size_t>(index) * head_dim, head_dim);
}

/// The backward pass over runs of the requested rows, one after the other or in parallel.
struct ExactBackward {
  const Problem& problem;
  const BackwardInputs& inputs;
  const GradientRows& rows;
  std::vector<QueryStatistics> statistics;  // [batch, heads, seqlen_q]
  ExactGradients gradients;                 // zeros at first
  Visibility visibility = Visibility(problem);

  /// A row of P: one query over the keys that it sees.
  void differentiate(std::span<const QueryRow> run) {
    const TensorShape queries = query_shape(problem), keys = key_shape(problem);
    const KeyRow key = key_row_of(problem, run.front());
    const std::vector<VisibleRuns> keys_of_each = visibility.of_each(run);
    const Range hull = hull_of(keys_of_each);
    const WideHead k(inputs.k, keys, key.batch, key.head, hull);
    const WideHead v(inputs.v, keys, key.batch, key.head, hull);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const QueryRow& r = run[i];
      const VisibleRuns& seen = keys_of_each[i];
      ScoreGradients row(size_of(seen));
      dot_rows(k, widen(row_of(inputs.q, queries, r)), seen, row.scores());
      dot_rows(v, widen(row_of(inputs.d_o, queries, r)), seen, row.dp());
      for_each_part(seen, row.keep(), [&](const Range& keys_of_run, std::span<std::uint8_t> keep) {
        fill_keep_mask(problem, r, keys_of_run.begin, keep);
      });
      const QueryStatistics& query = statistics[r.lse_index(problem)];
      row.differentiate(problem, std::vector(row.scores().size(), query));
      add_rows(k, row.scaled_ds(), seen, row_at(gradients.dq, &r - rows.dq.data(), problem));
    }
  }

  /// A column of P, for each head that reads it: one key over the queries that see it.
  void differentiate(std::span<const KeyRow> run) {
    for (const int head : query_heads_of(problem, run.front())) add_head(run, head);
  }

  /// Adds a query head's contribution to some rows of dK and dV.
  void add_head(std::span<const KeyRow> run, int head) {
    const TensorShape queries = query_shape(problem), keys = key_shape(problem);
    const std::vector<VisibleRuns> queries_of_each = visibility.of_each(run, head);
    const Range hull = hull_of(queries_of_each);
    const WideHead q(inputs.q, queries, run.front().batch, head, hull);
    const WideHead d_o(inputs.d_o, queries, run.front().batch, head, hull);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const KeyRow& r = run[i];
      const VisibleRuns& seen_by = queries_of_each[i];
      ScoreGradients column(size_of(seen_by));
      dot_rows(q, widen(row_of(inputs.k, keys, r)), seen_by, column.scores());
      dot_rows(d_o, widen(row_of(inputs.v, keys, r)), seen_by, column.dp());
      std::vector<QueryStatistics> of_column(column.scores().size());
      for_each_part(seen_by, column.keep(), [&](const Range& run_q, std::span<std::uint8_t> keep) {
        fill_keep_mask(problem, r, {r.batch, head, run_q.begin}, keep);
      });
      for_each_part(seen_by, std::span(of_column), [&](const Range& run_q, auto of_run) {
        const std::size_t at = QueryRow{r.batch, head, run_q.begin}.lse_index(problem);
        std::ranges::copy(std::span(statistics).subspan(at, of_run.size()), of_run.begin());
      });
      column.differentiate(problem, of_column);
      const std::ptrdiff_t index = &r - rows.dkv.data();
      add_rows(d_o, column.dropped_p(), seen_by, row_at(gradients.dv, index, problem));
      add_rows(q, column.scaled_ds(), seen_by, row_at(gradients.dk, index, problem));
    }
  }
};

}  // namespace

ExactGradients exact_backward(const Problem& problem, const BackwardInputs& inputs,
                              const GradientRows& rows) {
  check_backward(problem, inputs, rows);
  ExactBackward backward{problem, inputs, rows, query_statistics(problem, inputs, rows),
                         zero_gradients<double>(problem, rows)};
  for_each_run(rows, kBackwardRowsPerTask, [&](auto run) { backward.differentiate(run); });
  return std::move(backward.gradients);
}

}  // namespace sparkbench
