#include "reference/unfused/unfused_backward.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "reference/inputs/dropout_mask.h"
#include "reference/parallel.h"
#include "reference/unfused/head_matrix.h"
#include "reference/unfused/unfused_softmax.h"

namespace sparkbench {
namespace {

/// One warp instruction's worth of rows: they share one copy of the head's other side.
constexpr std::size_t kBackwardRowsPerTask = 32;

/// What the backward takes of one query from the forward.
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

/// S and dP of some rows of the attention matrix, or of some of its columns: fp16 numbers.
struct ScoreTile {
  std::vector<float> scores, dp;
};

/// Runs of the asked rows, one after the other or at once; the statistics of their queries before.
struct UnfusedBackward {
  const Problem& problem;
  const BackwardInputs& inputs;
  const GradientRows& rows;
  const TensorCores& tensor_cores;
  HalfGradients gradients;                       // of the asked rows
  std::vector<QueryStatistics> statistics = {};  // [batch, heads, seqlen_q]
  TensorShape queries = query_shape(problem);
  TensorShape keys = key_shape(problem);
  float keep_scale = problem.dropout().keep_scale;

  /// Line 2.
  std::vector<float> matmul_dp(const HalfMatrix& a, const HalfMatrix& b) const {
    std::vector<float> dp = tensor_core_matmul(tensor_cores, a, b);
    std::transform(dp.begin(), dp.end(), dp.begin(), rounded_to_fp16);
    return dp;
  }

  /// [run, seqlen_k]
  ScoreTile score_tile(std::span<const QueryRow> run) const {
    const KeyRow key = key_row_of(problem, run.front());
    return {unfused_scores(problem, rows_matrix(inputs.q, queries, run),
                           head_matrix(inputs.k, keys, key), tensor_cores),
            matmul_dp(rows_matrix(inputs.d_o, queries, run), head_matrix(inputs.v, keys, key))};
  }

  /// [run, seqlen_q], of the queries of one head that reads these keys.
  ScoreTile score_tile(std::span<const KeyRow> run, const QueryRow& query) const {
    return {unfused_scores(problem, rows_matrix(inputs.k, keys, run),
                           head_matrix(inputs.q, queries, query), tensor_cores),
            matmul_dp(rows_matrix(inputs.v, keys, run), head_matrix(inputs.d_o, queries, query))};
  }

  /// Dropout of what a row sees: keep[i] is 1 or 0 of its (first + i)-th element.
  struct VisibleKeep {
    std::size_t first;
    std::vector<std::uint8_t> keep;
  };
  VisibleKeep keep_of_visible(const QueryRow& r) const {
    const Range visible = visible_to(problem, r);
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(visible.size()));
    fill_keep_mask(problem, r, visible.begin, keep);
    return {static_cast<std::size_t>(visible.begin), std::move(keep)};
  }
  /// Under the queries of one head.
  VisibleKeep keep_of_visible(const KeyRow& r, const QueryRow& query) const {
    const Range visible = visible_to(problem, r);
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(visible.size()));
    fill_keep_mask(problem, r, {query.batch, query.head, visible.begin}, keep);
    return {static_cast<std::size_t>(visible.begin), std::move(keep)};
  }

  /// Line 3 and the softmax of line 2 of unfused.h, for all rows of a run.
  void find_statistics(std::span<const QueryRow> run) {
    const ScoreTile tile = score_tile(run);
    const auto seqlen = static_cast<std::size_t>(problem.seqlen_k_of(run.front().batch));
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto [first, keep] = keep_of_visible(run[i]);
      const std::size_t begin = i * seqlen + first;
      const auto scores = std::span(tile.scores).subspan(begin, keep.size());
      const SoftmaxStatistics softmax = softmax_statistics(scores);
      std::vector<float> products(keep.size());
      for (std::size_t j = 0; j < keep.size(); ++j) {
        const Dropped dropped{keep[j] != 0, keep_scale};
        products[j] = to_float(softmax.p(scores[j])) * dropped(tile.dp[begin + j]);
      }
      statistics[run[i].lse_index(problem)] = {softmax, warp_sum(products)};
    }
  }

  /// The same from a forward's o and lse.
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

  /// Line 4 of one element.
  Half ds(const QueryStatistics& query, float score, float dropped_dp) const {
    return to_half(to_float(query.softmax.p(score)) * (dropped_dp - query.delta));
  }

  /// fp16(alpha * matrix), the rows of a gradient from `first` on.
  void store(const std::vector<float>& matrix, float alpha, std::vector<Half>& gradient,
             std::ptrdiff_t first) const {
    std::transform(matrix.begin(), matrix.end(), gradient.begin() + first * problem.head_dim,
                   [alpha](float value) { return to_half(alpha * value); });
  }

  /// Line 5.
  void differentiate(std::span<const QueryRow> run) {
    const ScoreTile tile = score_tile(run);
    const auto seqlen = static_cast<std::size_t>(problem.seqlen_k_of(run.front().batch));
    HalfMatrix ds_tile(run.size(), seqlen);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto [first, keep] = keep_of_visible(run[i]);
      const QueryStatistics& query = statistics[run[i].lse_index(problem)];
      for (std::size_t j = 0; j < keep.size(); ++j) {
        const Dropped dropped{keep[j] != 0, keep_scale};
        const std::size_t at = i * seqlen + first + j;
        ds_tile.row(i)[first + j] = ds(query, tile.scores[at], dropped(tile.dp[at]));
      }
    }
    const HalfMatrix k = transposed_head_matrix(inputs.k, keys, key_row_of(problem, run.front()));
    store(tensor_core_matmul(tensor_cores, ds_tile, k), problem.scale(), gradients.dq,
          run.data() - rows.dq.data());
  }

  /// Lines 1 and 6, in FP32 over the heads that read these keys.
  void differentiate(std::span<const KeyRow> run) {
    std::vector<float> dk, dv;
    for (const int head : query_heads_of(problem, run.front())) add_head(run, head, dk, dv);
    const std::ptrdiff_t first_row = run.data() - rows.dkv.data();
    store(dv, 1.0f, gradients.dv, first_row);
    store(dk, problem.scale(), gradients.dk, first_row);
  }

  /// dK and dV += what a query head contributes to them.
  void add_head(std::span<const KeyRow> run, int head, std::vector<float>& dk,
                std::vector<float>& dv) const {
    const QueryRow of_head{run.front().batch, head, 0};
    const ScoreTile tile = score_tile(run, of_head);
    const auto seqlen = static_cast<std::size_t>(problem.seqlen_q_of(run.front().batch));
    HalfMatrix ds_tile(run.size(), seqlen), p_tile(run.size(), seqlen);
    for (std::size_t i = 0; i < run.size(); ++i) {
      const auto [first, keep] = keep_of_visible(run[i], of_head);
      const QueryStatistics* query = statistics.data() + of_head.lse_index(problem) + first;
      for (std::size_t j = 0; j < keep.size(); ++j) {
        const Dropped dropped{keep[j] != 0, keep_scale};
        const std::size_t at = i * seqlen + first + j;
        p_tile.row(i)[first + j] = to_half(dropped(to_float(query[j].softmax.p(tile.scores[at]))));
        ds_tile.row(i)[first + j] = ds(query[j], tile.scores[at], dropped(tile.dp[at]));
      }
    }
    add(tensor_core_matmul(tensor_cores, p_tile,
                           transposed_head_matrix(inputs.d_o, queries, of_head)),
        dv);
    add(tensor_core_matmul(tensor_cores, ds_tile,
                           transposed_head_matrix(inputs.q, queries, of_head)),
        dk);
  }
  /// An empty sum becomes the addend: of one head, its very bits.
  static void add(std::vector<float> addend, std::vector<float>& sum) {
    if (sum.empty()) return sum.swap(addend);
    std::transform(sum.begin(), sum.end(), addend.begin(), sum.begin(), std::plus<>());
  }
};

}  // namespace

HalfGradients unfused_fp16_backward(const Problem& problem, const BackwardInputs& inputs,
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
