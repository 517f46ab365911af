#include "reference/unfused/unfused.h"

#include <algorithm>
#include <cstdint>

#include "reference/inputs/dropout_mask.h"
#include "reference/parallel.h"
#include "reference/unfused/head_matrix.h"
#include "reference/unfused/needed_columns.h"
#include "reference/unfused/unfused_softmax.h"

namespace sparkbench {
namespace {

/// The rows of one warp instruction; they share one copy of K and V.
constexpr std::size_t kRowsPerTask = 32;

/// Line 3. p[i] is for key first_key + i.
void apply_dropout(const Problem& problem, const QueryRow& r, int first_key, ElementType element,
                   std::span<float> p) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) return;
  std::vector<std::uint8_t> keep(p.size());
  fill_keep_mask(problem, r, first_key, keep);
  for (std::size_t s = 0; s < p.size(); ++s) {
    p[s] = keep[s] ? rounded_to(element, dropout.keep_scale * p[s]) : 0.0f;
  }
}

/// Lines 1 to 3: P of the run's rows, [run, needed columns], and their lse.
HalfMatrix attention_weights(const Problem& problem, const ForwardInputs& inputs,
                             std::span<const QueryRow> run, const SeenColumns& seen,
                             const TensorCores& tensor_cores, std::span<float> lse) {
  const std::size_t size = seen.columns.size();
  const std::vector<float> scores =
      unfused_scores(problem, rows_matrix(inputs.q, query_shape(problem), run),
                     head_matrix(inputs.k, key_shape(problem), key_row_of(problem, run.front()),
                                 seen.columns.columns()),
                     tensor_cores);
  const ElementType element = tensor_cores.element;
  std::vector<float> p(run.size() * size);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const VisibleRuns& keys = seen.of_rows[i];
    const std::vector<float> row =
        visible_of(std::span(scores).subspan(i * size, size), seen.columns, keys);
    const SoftmaxStatistics statistics = softmax_statistics(row);
    std::vector<float> p_row(row.size());
    const float p_scale = tensor_cores.p_scale();
    std::transform(row.begin(), row.end(), p_row.begin(),
                   [&](float s) { return statistics.p(element, s, p_scale); });
    lse[i] = statistics.lse();
    for_each_part(keys, std::span(p_row), [&](const Range& of_run, std::span<float> part) {
      apply_dropout(problem, run[i], of_run.begin, element, part);
    });
    scatter(p_row, seen.columns, keys, p.data() + i * size);
  }
  return {run.size(), size, p, element};
}

}  // namespace

ForwardRows unfused_forward(const Problem& problem, const ForwardInputs& inputs,
                            std::span<const QueryRow> rows, const TensorCores& tensor_cores) {
  check_forward(problem, inputs, rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  ForwardRows result{std::vector<Half>(rows.size() * head_dim), std::vector<float>(rows.size())};
  const Visibility visibility(problem);
  const auto runs = split_by_head(rows, kRowsPerTask);
  parallel_for(runs.size(), [&](std::size_t index) {
    const std::span<const QueryRow> run = runs[index];
    const auto begin = static_cast<std::size_t>(run.data() - rows.data());
    const std::span<float> lse = std::span(result.lse).subspan(begin, run.size());
    const SeenColumns seen = keys_seen_by(problem, visibility, run);
    const HalfMatrix p = attention_weights(problem, inputs, run, seen, tensor_cores, lse);
    const std::vector<float> o = tensor_core_matmul(
        tensor_cores, p,
        transposed_head_matrix(inputs.v, key_shape(problem), key_row_of(problem, run.front()),
                               seen.columns.columns()));
    const float p_scale = tensor_cores.p_scale();
    std::transform(o.begin(), o.end(), &result.o[begin * head_dim],
                   [&](float value) { return to_input(tensor_cores.element, value / p_scale); });
  });
  return result;
}

}  // namespace sparkbench
