#include "reference/unfused/unfused_backward.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

#include "reference/inputs/dropout_mask.h"
#include "reference/parallel.h"
#include "reference/unfused/head_matrix.h"
#include "reference/unfused/needed_columns.h"
#include "reference/unfused/unfused_softmax.h"

namespace sparkbench {
namespace {

/// The rows of one warp instruction; they share one copy of the head's other side.
constexpr std::size_t kBackwardRowsPerTask = 32;

/// The backward pass's inputs from the forward pass, for one query.
struct QueryStatistics {
  SoftmaxStatistics softmax;
  float delta = 0.0f;
};

/// Dropout of one element.
struct Dropped {
  bool is_kept;
  float keep_scale;

  float operator()(float value) const { return is_kept ? keep_scale * value : 0.0f; }
};

/// S and dP for some rows, or some columns, of the attention matrix: numbers of the element type.
struct ScoreTile {
  std::vector<float> scores, dp;
};

/// The backward pass over runs of the requested rows, one after the other or in parallel. The
/// statistics of their queries come first.
struct UnfusedBackward {
  const Problem& problem;
  const BackwardInputs& inputs;
  const GradientRows& rows;
  const TensorCores& tensor_cores;
  HalfGradients gradients;                       // of the requested rows
  std::vector<QueryStatistics> statistics = {};  // [batch, heads, seqlen_q]
  TensorShape queries = query_shape(problem);
  TensorShape keys = key_shape(problem);
  float keep_scale = problem.dropout().keep_scale;
  Visibility visibility = Visibility(problem);

  float rounded(float value) const { return rounded_to(tensor_cores.element, value); }

  /// Line 2.
  std::vector<float> matmul_dp(const HalfMatrix& a, const HalfMatrix& b) const {
    std::vector<float> dp = tensor_core_matmul(tensor_cores, a, b);
    for (float& element : dp) element = rounded(element);
    return dp;
  }

  /// [run, needed keys]
  ScoreTile score_tile(std::span<const QueryRow> run, const NeededColumns& columns) const {
    const KeyRow key = key_row_of(problem, run.front());
    return {unfused_scores(problem, rows_matrix(inputs.q, queries, run),
                           head_matrix(inputs.k, keys, key, columns.columns()), tensor_cores),
            matmul_dp(rows_matrix(inputs.d_o, queries, run),
                      head_matrix(inputs.v, keys, key, columns.columns()))};
  }

  /// [run, needed queries], for the queries of one head that reads these keys.
  ScoreTile score_tile(std::span<const KeyRow> run, const QueryRow& query,
                       const NeededColumns& columns) const {
    return {unfused_scores(problem, rows_matrix(inputs.k, keys, run),
                           head_matrix(inputs.q, queries, query, columns.columns()), tensor_cores),
            matmul_dp(rows_matrix(inputs.v, keys, run),
                      head_matrix(inputs.d_o, queries, query, columns.columns()))};
  }

  /// The visible elements of row i of a tile, side by side; keep is 1 or 0.
  struct VisibleRow {
    std::vector<float> scores, dp;
    std::vector<std::uint8_t> keep;
  };
  VisibleRow visible_row(const ScoreTile& tile, const SeenColumns& seen, std::size_t i) const {
    const std::size_t size = seen.columns.size();
    const auto of = [&](const std::vector<float>& matrix) {
      return visible_of(std::span(matrix).subspan(i * size, size), seen.columns, seen.of_rows[i]);
    };
    VisibleRow row{of(tile.scores), of(tile.dp), {}};
    row.keep.resize(row.scores.size());
    return row;
  }
  VisibleRow visible_row(const ScoreTile& tile, const SeenColumns& seen, std::size_t i,
                         const QueryRow& r) const {
    VisibleRow row = visible_row(tile, seen, i);
    for_each_part(seen.of_rows[i], std::span(row.keep), [&](const Range& run, auto keep) {
      fill_keep_mask(problem, r, run.begin, keep);
    });
    return row;
  }
  /// A column over the queries of one head, with their statistics.
  struct VisibleColumn : VisibleRow {
    std::vector<QueryStatistics> queries;
  };
  VisibleColumn visible_column(const ScoreTile& tile, const SeenColumns& seen, std::size_t i,
                               const KeyRow& r, const QueryRow& of_head) const {
    VisibleColumn column{visible_row(tile, seen, i), {}};
    const VisibleRuns& runs = seen.of_rows[i];
    for_each_part(runs, std::span(column.keep), [&](const Range& run, auto keep) {
      fill_keep_mask(problem, r, {of_head.batch, of_head.head, run.begin}, keep);
    });
    for (const Range& run : runs) {
      const QueryStatistics* const first =
          statistics.data() + QueryRow{of_head.batch, of_head.head, run.begin}.lse_index(problem);
      column.queries.insert(column.queries.end(), first, first + run.size());
    }
    return column;
  }

  /// Line 3, and the softmax of line 2 of unfused.h, for all rows of a run.
  void find_statistics(std::span<const QueryRow> run) {
    const SeenColumns seen = keys_seen_by(problem, visibility, run);
    const ScoreTile tile = score_tile(run, seen.columns);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const VisibleRow row = visible_row(tile, seen, i, run[i]);
      const SoftmaxStatistics softmax = softmax_statistics(row.scores);
      std::vector<float> products(row.scores.size());
      for (std::size_t j = 0; j < products.size(); ++j) {
        const Dropped dropped{row.keep[j] != 0, keep_scale};
        products[j] = softmax.p(tensor_cores.element, row.scores[j]) * dropped(row.dp[j]);
      }
      statistics[run[i].lse_index(problem)] = {softmax, warp_sum(products)};
    }
  }

  /// The same from a forward pass's o and lse.
  void take_statistics(std::span<const QueryRow> run) {
    for (const QueryRow& r : run) {
      const std::span o = row_of(inputs.o, queries, r), d_o = row_of(inputs.d_o, queries, r);
      std::vector<float> products(o.size());
      std::transform(o.begin(), o.end(), d_o.begin(), products.begin(),
                     [](Half a, Half b) { return to_float(a) * to_float(b); });
      const std::size_t index = r.lse_index(problem);
      statistics[index] = {{inputs.lse[index], 1.0f}, warp_sum(products)};
    }
  }

  /// Line 4 for one element.
  float ds(const QueryStatistics& query, float score, float dropped_dp) const {
    return rounded(query.softmax.p(tensor_cores.element, score) * (dropped_dp - query.delta));
  }

  /// rounded(alpha * matrix), into the rows of a gradient from `first` on.
  void store(const std::vector<float>& matrix, float alpha, std::vector<Half>& gradient,
             std::ptrdiff_t first) const {
    std::transform(matrix.begin(), matrix.end(), gradient.begin() + first * problem.head_dim,
                   [this, alpha](float value) { return to_half(rounded(alpha * value)); });
  }

  /// Line 5.
  void differentiate(std::span<const QueryRow> run) {
    const SeenColumns seen = keys_seen_by(problem, visibility, run);
    const ScoreTile tile = score_tile(run, seen.columns);
    const std::size_t size = seen.columns.size();
    std::vector<float> all_ds(run.size() * size);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const VisibleRow row = visible_row(tile, seen, i, run[i]);
      const QueryStatistics& query = statistics[run[i].lse_index(problem)];
      std::vector<float> ds_row(row.scores.size());
      for (std::size_t j = 0; j < ds_row.size(); ++j) {
        const Dropped dropped{row.keep[j] != 0, keep_scale};
        ds_row[j] = ds(query, row.scores[j], dropped(row.dp[j]));
      }
      scatter(ds_row, seen.columns, seen.of_rows[i], all_ds.data() + i * size);
    }
    const HalfMatrix ds_tile(run.size(), size, all_ds, tensor_cores.element);
    const HalfMatrix k = transposed_head_matrix(inputs.k, keys, key_row_of(problem, run.front()),
                                                seen.columns.columns());
    store(tensor_core_matmul(tensor_cores, ds_tile, k), problem.scale(), gradients.dq,
          run.data() - rows.dq.data());
  }

  /// A query head's contribution to some rows of dK and dV: dS^T and dropout(P)^T, and the matrices
  /// that multiply them.
  struct HeadTiles {
    HalfMatrix ds, p, q, d_o;
  };

  /// Lines 1 and 6, over the heads that read these keys.
  void differentiate(std::span<const KeyRow> run) {
    std::vector<HeadTiles> heads;
    for (const int head : query_heads_of(problem, run.front())) heads.push_back(tiles(run, head));
    const bool has_fp16_sums = tensor_cores.accumulator == Accumulator::kFp16;
    const std::ptrdiff_t first_row = run.data() - rows.dkv.data();
    const auto sum_of = [&](HalfMatrix HeadTiles::*a, HalfMatrix HeadTiles::*b) {
      return has_fp16_sums ? one_sum(heads, a, b) : sum_of_heads(heads, a, b);
    };
    store(sum_of(&HeadTiles::p, &HeadTiles::d_o), 1.0f, gradients.dv, first_row);
    store(sum_of(&HeadTiles::ds, &HeadTiles::q), problem.scale(), gradients.dk, first_row);
  }

  HeadTiles tiles(std::span<const KeyRow> run, int head) const {
    const QueryRow of_head{run.front().batch, head, 0};
    const SeenColumns seen = queries_that_see(problem, visibility, run, head);
    const ScoreTile tile = score_tile(run, of_head, seen.columns);
    const std::size_t size = seen.columns.size();
    std::vector<float> all_ds(run.size() * size), all_p(run.size() * size);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const VisibleColumn column = visible_column(tile, seen, i, run[i], of_head);
      std::vector<float> p_row(column.scores.size()), ds_row(column.scores.size());
      for (std::size_t j = 0; j < p_row.size(); ++j) {
        const Dropped dropped{column.keep[j] != 0, keep_scale};
        const QueryStatistics& query = column.queries[j];
        p_row[j] = rounded(dropped(query.softmax.p(tensor_cores.element, column.scores[j])));
        ds_row[j] = ds(query, column.scores[j], dropped(column.dp[j]));
      }
      scatter(p_row, seen.columns, seen.of_rows[i], all_p.data() + i * size);
      scatter(ds_row, seen.columns, seen.of_rows[i], all_ds.data() + i * size);
    }
    const auto of_queries = [&](const HostTensor& tensor) {
      return transposed_head_matrix(tensor, queries, of_head, seen.columns.columns());
    };
    const ElementType element = tensor_cores.element;
    return {HalfMatrix(run.size(), size, all_ds, element),
            HalfMatrix(run.size(), size, all_p, element), of_queries(inputs.q),
            of_queries(inputs.d_o)};
  }

  /// In FP32 over the heads. For one head the bits are those of its product.
  std::vector<float> sum_of_heads(const std::vector<HeadTiles>& heads, HalfMatrix HeadTiles::*a,
                                  HalfMatrix HeadTiles::*b) const {
    std::vector<float> sum;
    for (const HeadTiles& head : heads) {
      std::vector<float> addend = tensor_core_matmul(tensor_cores, head.*a, head.*b);
      if (sum.empty()) {
        sum.swap(addend);
      } else {
        std::transform(sum.begin(), sum.end(), addend.begin(), sum.begin(), std::plus<>());
      }
    }
    return sum;
  }

  /// One product over the queries of all heads.
  std::vector<float> one_sum(const std::vector<HeadTiles>& heads, HalfMatrix HeadTiles::*a,
                             HalfMatrix HeadTiles::*b) const {
    if (tensor_cores.element != ElementType::kFp16) {
      throw std::logic_error("no tensor core sums bf16 products in fp16");
    }
    std::vector<const HalfMatrix*> of_a, of_b;
    for (const HeadTiles& head : heads) {
      of_a.push_back(&(head.*a));
      of_b.push_back(&(head.*b));
    }
    return tensor_core_matmul(tensor_cores, side_by_side(of_a), side_by_side(of_b));
  }
};

}  // namespace

HalfGradients unfused_backward(const Problem& problem, const BackwardInputs& inputs,
                               const GradientRows& rows, const TensorCores& tensor_cores) {
  check_backward(problem, inputs, rows);
  UnfusedBackward backward{problem, inputs, rows, tensor_cores,
                           zero_gradients<Half>(problem, rows)};
  backward.statistics.resize(problem.lse_elements());
  const std::vector<QueryRow> needed = queries_needed_by(problem, rows);
  const auto needed_runs = split_by_head<QueryRow>(needed, kBackwardRowsPerTask);
  parallel_for(needed_runs.size(), [&](std::size_t run) {
    if (inputs.has_forward()) {
      backward.take_statistics(needed_runs[run]);
    } else {
      backward.find_statistics(needed_runs[run]);
    }
  });
  for_each_run(rows, kBackwardRowsPerTask, [&](auto run) { backward.differentiate(run); });
  return std::move(backward.gradients);
}

}  // namespace sparkbench
