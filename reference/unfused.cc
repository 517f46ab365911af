#include "reference/unfused.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/dropout_mask.h"
#include "reference/parallel.h"

namespace sparkbench {
namespace {

/// One warp instruction's worth of rows: they share one copy of K and V.
constexpr std::size_t kRowsPerTask = 32;
constexpr std::size_t kLanes = 32;

Half rounded_product(float a, Half b) { return to_half(a * to_float(b)); }

HalfMatrix gather_q(const Problem& problem, const ForwardInputs& inputs,
                    std::span<const QueryRow> run) {
  HalfMatrix q(run.size(), static_cast<std::size_t>(problem.head_dim));
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Half* row = &inputs.q[row_offset(run[i].batch, run[i].row, run[i].head, problem.seqlen_q,
                                           problem.heads, problem.head_dim)];
    std::copy_n(row, problem.head_dim, q.row(i));
  }
  return q;
}

/// K of one head, [seqlen_k, head_dim].
HalfMatrix gather_k(const Problem& problem, std::span<const Half> k, const QueryRow& of) {
  HalfMatrix gathered(static_cast<std::size_t>(problem.seqlen_k),
                      static_cast<std::size_t>(problem.head_dim));
  for (int s = 0; s < problem.seqlen_k; ++s) {
    const Half* row =
        &k[row_offset(of.batch, s, of.head, problem.seqlen_k, problem.heads, problem.head_dim)];
    std::copy_n(row, problem.head_dim, gathered.row(static_cast<std::size_t>(s)));
  }
  return gathered;
}

/// V of one head, transposed: [head_dim, seqlen_k].
HalfMatrix gather_v_transposed(const Problem& problem, std::span<const Half> v,
                               const QueryRow& of) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const auto seqlen = static_cast<std::size_t>(problem.seqlen_k);
  HalfMatrix gathered(head_dim, seqlen);
  for (std::size_t s = 0; s < seqlen; ++s) {
    const Half* row = &v[row_offset(of.batch, static_cast<int>(s), of.head, problem.seqlen_k,
                                    problem.heads, problem.head_dim)];
    for (std::size_t d = 0; d < head_dim; ++d) gathered.row(d)[s] = row[d];
  }
  return gathered;
}

/// The sum as a warp takes it: lane l adds elements l, l + 32, ...; then a butterfly.
float warp_sum(std::span<const float> values) {
  std::array<float, kLanes> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % kLanes] += values[i];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

/// Line 2 over the visible scores of a row, which become exp(s - max). Returns the row's lse.
float softmax(std::span<float> scores, Half* p) {
  if (scores.empty()) return -std::numeric_limits<float>::infinity();
  const float maximum = *std::max_element(scores.begin(), scores.end());
  for (float& score : scores) score = std::exp(score - maximum);
  const float sum = warp_sum(scores);
  for (std::size_t s = 0; s < scores.size(); ++s) p[s] = to_half(scores[s] / sum);
  return maximum + std::log(sum);
}

/// Line 3.
void apply_dropout(const Problem& problem, const QueryRow& r, std::span<Half> p) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) return;
  std::vector<std::uint8_t> keep(p.size());
  fill_keep_mask(problem, r, keep);
  for (std::size_t s = 0; s < p.size(); ++s) {
    p[s] = keep[s] ? rounded_product(dropout.keep_scale(), p[s]) : Half{0};
  }
}

/// Lines 1 to 3: P of the run's rows, and their lse.
HalfMatrix attention_weights(const Problem& problem, const ForwardInputs& inputs,
                             std::span<const QueryRow> run, const TensorCores& tensor_cores,
                             std::span<float> lse) {
  const auto seqlen = static_cast<std::size_t>(problem.seqlen_k);
  std::vector<float> scores =
      tensor_core_matmul(tensor_cores, gather_q(problem, inputs, run),
                         gather_k(problem, inputs.k, run.front()));  // [rows, seqlen_k]
  for (float& score : scores) score = to_float(to_half(problem.scale() * score));
  HalfMatrix p(run.size(), seqlen);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto visible = static_cast<std::size_t>(
        visible_keys(run[i].row, problem.seqlen_q, problem.seqlen_k, problem.causal));
    lse[i] = softmax(std::span(scores).subspan(i * seqlen, visible), p.row(i));
    apply_dropout(problem, run[i], std::span(p.row(i), visible));
  }
  return p;
}

}  // namespace

ForwardRows unfused_fp16_forward(const Problem& problem, const ForwardInputs& inputs,
                                 std::span<const QueryRow> rows, const TensorCores& tensor_cores) {
  check_forward(problem, inputs, rows);
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  ForwardRows result{std::vector<Half>(rows.size() * head_dim), std::vector<float>(rows.size())};
  const auto runs = split_by_head(rows, kRowsPerTask);
  parallel_for(runs.size(), [&](std::size_t index) {
    const std::span<const QueryRow> run = runs[index];
    const auto begin = static_cast<std::size_t>(run.data() - rows.data());
    const std::span<float> lse = std::span(result.lse).subspan(begin, run.size());
    const HalfMatrix p = attention_weights(problem, inputs, run, tensor_cores, lse);
    const std::vector<float> o =
        tensor_core_matmul(tensor_cores, p, gather_v_transposed(problem, inputs.v, run.front()));
    std::transform(o.begin(), o.end(), &result.o[begin * head_dim], to_half);
  });
  return result;
}

}  // namespace sparkbench
