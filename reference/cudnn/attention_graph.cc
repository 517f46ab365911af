#include "reference/cudnn/attention_graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "reference/cudnn/diagonal_bounds.h"

namespace sparkbench::cudnn {
namespace {

using Mode = PointwiseMode;

constexpr std::size_t kFirstVersionWithInfinity = 91000;
/// For one row per sequence cuDNN 9.19 chooses another kernel, which does not write the LSE of a
/// ragged batch (seen on an H200).
constexpr int kFewestRaggedRows = 2;

std::int64_t batch_of(const Problem& problem, const RaggedBatch* ragged) {
  return ragged != nullptr ? static_cast<std::int64_t>(ragged->sequences.size()) : problem.batch;
}

/// Rows of the longest sequence, or more.
std::int64_t rows_of(const Problem& problem, const RaggedBatch* ragged) {
  return ragged != nullptr ? std::max(ragged->longest_rows, kFewestRaggedRows) : problem.seqlen_q;
}

/// The layouts of a problem's tensors, in memory and between operations.
struct Layouts {
  Layouts(const Problem& problem, const AttentionStrides& strides, const RaggedBatch* ragged)
      : batch(batch_of(problem, ragged)),
        heads(problem.heads),
        key_heads(problem.key_heads()),
        rows(rows_of(problem, ragged)),
        keys(ragged ? ragged->longest_keys : problem.seqlen_k),
        head_dim(problem.head_dim),
        q(of_queries(strides.q)),
        k(of_keys(strides.k)),
        v(of_keys(strides.v)),
        o(of_queries(strides.o)),
        d_o(of_queries(strides.d_o)),
        dq(of_queries(strides.dq)),
        dk(of_keys(strides.dk)),
        dv(of_keys(strides.dv)),
        scores({{batch, heads, rows, keys}, {heads * rows * keys, rows * keys, keys, 1}}),
        row({{batch, heads, rows, 1}, {heads * rows, rows, 1, 1}}),
        lse(ragged ? Layout{row.extents, {heads * ragged->total_rows, ragged->total_rows, 1, 1}}
                   : row) {}

  std::int64_t batch, heads, key_heads, rows, keys, head_dim;
  Layout q, k, v, o, d_o, dq, dk, dv;
  Layout scores;  // [batch, heads, seqlen_q, seqlen_k]
  Layout row;     // [batch, heads, seqlen_q, 1]
  Layout lse;     // the same in memory; for a ragged batch [heads, total_q]

 private:
  Layout of_queries(const RowStrides& strides) const {
    return {{batch, heads, rows, head_dim}, {strides.batch, strides.head, strides.seqlen, 1}};
  }
  Layout of_keys(const RowStrides& strides) const {
    return {{batch, key_heads, keys, head_dim}, {strides.batch, strides.head, strides.seqlen, 1}};
  }
};

/// Builds the graph of one problem.
class Builder {
 public:
  Builder(Graph& graph, const AttentionPlan& plan)
      : graph_(graph),
        problem_(plan.problem),
        ragged_(plan.ragged),
        layouts_(plan.problem, plan.strides, plan.ragged),
        scale_(graph.scalar(plan.problem.scale())),
        minus_infinity_(plan.library_version < kFirstVersionWithInfinity
                            ? std::numeric_limits<float>::lowest()
                            : -std::numeric_limits<float>::infinity()) {
    if (ragged_ == nullptr) return;
    rows_ = &lengths(kRows);
    keys_ = &lengths(kKeys);
  }

  void forward();
  void backward(bool is_deterministic);

 private:
  bool drops() const { return problem_.dropout().threshold != 0; }
  /// The offset of each sequence in tensor `id`; null unless the batch is ragged.
  const Tensor* offsets(TensorId id) {
    if (ragged_ == nullptr) return nullptr;
    return &graph_.tensor(offsets_id(id), DataType::kInt64,
                          {{layouts_.batch + 1, 1, 1, 1}, {1, 1, 1, 1}});
  }
  const Tensor& lengths(TensorId id) {
    return graph_.tensor(id, DataType::kInt32, {{layouts_.batch, 1, 1, 1}, {1, 1, 1, 1}});
  }
  const Tensor& half_tensor(TensorId id, const Layout& layout) {
    return graph_.tensor(id, DataType::kHalf, layout, offsets(id));
  }
  bool are_squares() const {
    return ragged_ != nullptr ? ragged_->are_square() : problem_.seqlen_q == problem_.seqlen_k;
  }

  const Tensor& scaled_scores(const Tensor& q, const Tensor& k_transposed);
  const Tensor& without_padding(const Tensor& scores);
  const Tensor& masked(const Tensor& scores);
  const Tensor& cut_right(const Tensor& scores, std::int32_t keys_after);
  const Tensor& cut_left(const Tensor& scores, std::int32_t keys);
  const Tensor& softmax(const Tensor& scores);
  const Tensor& kept_mask();
  const Tensor& row_dots(const Tensor& d_o, const Tensor& o);
  const Tensor& transposed_half(const Tensor& scores);
  void key_gradient(const Tensor& scores, const Tensor& queries, TensorId of_heads,
                    TensorId gradient, const Layout& layout);
  void query_gradient(const Tensor& scores, const Tensor& k_transposed, const Tensor* k_offsets,
                      bool is_deterministic);

  Graph& graph_;
  const Problem& problem_;
  const RaggedBatch* ragged_;
  Layouts layouts_;
  const Tensor* rows_ = nullptr;  // per sequence, if the batch is ragged
  const Tensor* keys_ = nullptr;
  const Tensor& scale_;
  float minus_infinity_;
};

const Tensor& Builder::scaled_scores(const Tensor& q, const Tensor& k_transposed) {
  const Tensor& products = graph_.intermediate(layouts_.scores);
  graph_.matmul(q, k_transposed, products, {rows_, keys_, nullptr});
  return graph_.pointwise(Mode::kMultiply, {&products, &scale_});
}

/// Hides everything past the end of each sequence.
const Tensor& Builder::without_padding(const Tensor& scores) {
  if (ragged_ == nullptr) return scores;
  const Tensor& row = graph_.index(scores, 2, DataType::kInt32);
  const Tensor& column = graph_.index(scores, 3, DataType::kInt32);
  const Tensor& is_row = graph_.pointwise(Mode::kLess, {&row, rows_}, DataType::kBoolean);
  const Tensor& is_key = graph_.pointwise(Mode::kLess, {&column, keys_}, DataType::kBoolean);
  const Tensor& is_pair = graph_.pointwise(Mode::kAnd, {&is_row, &is_key}, DataType::kBoolean);
  return graph_.pointwise(Mode::kSelect, {&scores, &graph_.scalar(minus_infinity_), &is_pair});
}

/// Applies one bound after the other, each with its own indices.
const Tensor& Builder::masked(const Tensor& scores) {
  const std::optional<DiagonalBounds> bounds =
      ragged_ != nullptr ? diagonal_bounds(problem_.mask, *ragged_) : diagonal_bounds(problem_);
  if (!bounds) return scores;
  const Tensor& cut = cut_right(scores, bounds->keys_after);
  return bounds->keys_before ? cut_left(cut, *bounds->keys_before) : cut;
}

/// Keeps column <= row + seqlen_k - seqlen_q + keys_after.
const Tensor& Builder::cut_right(const Tensor& scores, std::int32_t keys_after) {
  const Tensor* row = &graph_.index(scores, 2);
  const Tensor& column = graph_.index(scores, 3);
  if (!are_squares()) {
    const Tensor* keys = ragged_ != nullptr ? keys_ : &graph_.scalar(problem_.seqlen_k);
    row = &graph_.pointwise(Mode::kAdd, {row, keys}, DataType::kInt32);
    const Tensor* rows = ragged_ != nullptr ? rows_ : &graph_.scalar(problem_.seqlen_q);
    row = &graph_.pointwise(Mode::kSubtract, {row, rows}, DataType::kInt32);
  }
  if (keys_after != 0) {
    row = &graph_.pointwise(Mode::kAdd, {row, &graph_.scalar(keys_after)}, DataType::kInt32);
  }
  const Tensor& is_visible =
      graph_.pointwise(Mode::kGreaterOrEqual, {row, &column}, DataType::kBoolean);
  return graph_.pointwise(Mode::kSelect, {&scores, &graph_.scalar(minus_infinity_), &is_visible});
}

/// Keeps column > row + seqlen_k - seqlen_q - keys. cuDNN wants this bound in fp32, unless the
/// lengths are in memory.
const Tensor& Builder::cut_left(const Tensor& scores, std::int32_t keys) {
  const Tensor& row = graph_.index(scores, 2);
  const Tensor* column = &graph_.index(scores, 3);
  if (ragged_ != nullptr && !are_squares()) {
    column = &graph_.pointwise(Mode::kAdd, {column, &graph_.scalar(keys)}, DataType::kInt32);
    column = &graph_.pointwise(Mode::kSubtract, {column, keys_}, DataType::kInt32);
    column = &graph_.pointwise(Mode::kAdd, {column, rows_}, DataType::kInt32);
  } else {
    const int to_p = are_squares() ? 0 : problem_.seqlen_k - problem_.seqlen_q;
    const auto offset = static_cast<float>(keys - to_p);
    column = &graph_.pointwise(Mode::kAdd, {column, &graph_.scalar(offset)});
  }
  const Tensor& is_visible = graph_.pointwise(Mode::kGreater, {column, &row}, DataType::kBoolean);
  return graph_.pointwise(Mode::kSelect, {&scores, &graph_.scalar(minus_infinity_), &is_visible});
}

/// Also writes LSE = max + log(sum).
const Tensor& Builder::softmax(const Tensor& scores) {
  const Tensor& max = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kMax, scores, max);
  const Tensor& shifted = graph_.pointwise(Mode::kSubtract, {&scores, &max});
  const Tensor& exponentials = graph_.pointwise(Mode::kExp, {&shifted});
  const Tensor& sum = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kAdd, exponentials, sum);
  const Tensor& log_sum = graph_.pointwise(Mode::kLog, {&sum});
  graph_.pointwise(Mode::kAdd, {&max, &log_sum},
                   graph_.tensor(kLse, DataType::kFloat, layouts_.lse, offsets(kLse)));
  const Tensor& p =
      graph_.intermediate(layouts_.scores, drops() ? DataType::kFloat : DataType::kHalf);
  graph_.pointwise(Mode::kDivide, {&exponentials, &sum}, p);
  return p;
}

/// 1 if a probability is kept, 0 if it is dropped.
const Tensor& Builder::kept_mask() {
  constexpr Layout kOne = {{1, 1, 1, 1}, {1, 1, 1, 1}};
  const Tensor& mask = graph_.intermediate(layouts_.scores);
  graph_.random_mask(1.0 - static_cast<double>(problem_.dropout().applied_p()),
                     graph_.tensor(kSeed, DataType::kInt64, kOne),
                     graph_.tensor(kOffset, DataType::kInt64, kOne), mask);
  return mask;
}

void Builder::forward() {
  const Tensor& q = half_tensor(kQ, layouts_.q);
  const Tensor& k_transposed = half_tensor(kK, transposed(layouts_.k));
  const Tensor* p = &softmax(masked(without_padding(scaled_scores(q, k_transposed))));
  if (drops()) {
    const Tensor& kept = graph_.pointwise(Mode::kMultiply, {p, &kept_mask()});
    const Tensor& rescaled = graph_.intermediate(layouts_.scores, DataType::kHalf);
    graph_.pointwise(Mode::kMultiply, {&kept, &graph_.scalar(problem_.dropout().keep_scale)},
                     rescaled);
    p = &rescaled;
  }
  graph_.matmul(*p, half_tensor(kV, layouts_.v), half_tensor(kO, layouts_.o),
                {rows_, nullptr, keys_});
}

/// D = rowsum(dO * O), divided by the keep scale, because the difference dP - D is multiplied by it
/// at the end.
const Tensor& Builder::row_dots(const Tensor& d_o, const Tensor& o) {
  const std::int64_t rows = layouts_.rows, heads = layouts_.heads, head_dim = layouts_.head_dim;
  const Tensor& products = graph_.intermediate(
      {layouts_.q.extents, {heads * rows * head_dim, rows * head_dim, heads * head_dim, 1}});
  graph_.pointwise(Mode::kMultiply, {&d_o, &o}, products);
  const Tensor& sums = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kAdd, products, sums);
  const Tensor& delta = graph_.tensor(kDelta, DataType::kFloat, layouts_.row);
  const float keep = drops() ? 1.0f / problem_.dropout().keep_scale : 1.0f;
  graph_.pointwise(Mode::kMultiply, {&sums, &graph_.scalar(keep)}, delta);
  return delta;
}

const Tensor& Builder::transposed_half(const Tensor& scores) {
  const Tensor& result = graph_.intermediate(transposed(layouts_.scores), DataType::kHalf);
  graph_.reshape(scores, result);
  return result;
}

/// gradient = scores^T queries. If heads share keys, each head's gradient goes to memory first.
void Builder::key_gradient(const Tensor& scores, const Tensor& queries, TensorId of_heads,
                           TensorId gradient_id, const Layout& gradient_layout) {
  const Tensor* const gradient_offsets = offsets(gradient_id);
  const Tensor& gradient =
      graph_.tensor(gradient_id, DataType::kHalf, gradient_layout, gradient_offsets);
  const Tensor& scores_transposed = transposed_half(scores);
  const MatmulLengths lengths{keys_, nullptr, rows_};
  const std::int64_t group_size = problem_.group_size();
  if (group_size == 1) return graph_.matmul(scores_transposed, queries, gradient, lengths);
  const std::int64_t heads = layouts_.heads, keys = layouts_.keys, head_dim = layouts_.head_dim;
  Layout layout{{layouts_.batch, heads, keys, head_dim},
                {heads * keys * head_dim, keys * head_dim, head_dim, 1}};
  if (ragged_ != nullptr) {  // cuDNN multiplies the gradient's offsets by the group size
    layout.strides = gradient_layout.strides;
    layout.strides[0] *= group_size;
    layout.strides[2] *= group_size;
  }
  const Tensor& products = graph_.tensor(of_heads, DataType::kHalf, layout, gradient_offsets);
  graph_.matmul(scores_transposed, queries, products, lengths);
  graph_.reduce(ReductionOperator::kAdd, products, gradient);
}

/// dQ = scores K: summed in memory, or by one block per tile of queries. In that memory each
/// sequence of a ragged batch has as many rows as the longest. With the sums laid out like dQ,
/// cuDNN 9.19 adds them up wrong at head_dim 40 (seen on an H200).
void Builder::query_gradient(const Tensor& scores, const Tensor& k_transposed,
                             const Tensor* k_offsets, bool is_deterministic) {
  const Tensor& k = graph_.intermediate(layouts_.k, DataType::kHalf, k_offsets);
  graph_.reshape(k_transposed, k);
  const Tensor* const dq_offsets = offsets(kDq);
  const Tensor& dq = graph_.tensor(kDq, DataType::kHalf, layouts_.dq, dq_offsets);
  const MatmulLengths lengths{rows_, nullptr, keys_};
  if (is_deterministic) return graph_.matmul(scores, k, dq, lengths);
  const std::int64_t rows = layouts_.rows, head_dim = layouts_.head_dim;
  const Layout layout{layouts_.q.extents,
                      {layouts_.heads * rows * head_dim, rows * head_dim, head_dim, 1}};
  const Tensor& dq_sum = graph_.tensor(kDqSum, DataType::kFloat, layout);
  graph_.matmul(scores, k, dq_sum, lengths);
  graph_.pointwise(Mode::kIdentity, {&dq_sum}, dq);
}

void Builder::backward(bool is_deterministic) {
  const Tensor& q = half_tensor(kQ, layouts_.q);
  const Tensor* const k_offsets = offsets(kK);
  const Tensor& k_transposed =
      graph_.tensor(kK, DataType::kHalf, transposed(layouts_.k), k_offsets);
  const Tensor& v_transposed = half_tensor(kV, transposed(layouts_.v));
  const Tensor& d_o = half_tensor(kDO, layouts_.d_o);
  const Tensor& lse = graph_.tensor(kLse, DataType::kFloat, layouts_.lse, offsets(kLse));
  const Tensor* mask = drops() ? &kept_mask() : nullptr;
  const Tensor* keep_scale = drops() ? &graph_.scalar(problem_.dropout().keep_scale) : nullptr;
  const Tensor& delta = row_dots(d_o, half_tensor(kO, layouts_.o));

  // P = exp(S - LSE), with the mask applied after the subtraction; dV = dropout(P)^T dO
  const Tensor& s = without_padding(scaled_scores(q, k_transposed));
  const Tensor& p =
      graph_.pointwise(Mode::kExp, {&masked(graph_.pointwise(Mode::kSubtract, {&s, &lse}))});
  const Tensor* dropped_p = &p;
  if (drops()) {
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, mask});
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, keep_scale});
  }
  key_gradient(*dropped_p, d_o, kDvOfHeads, kDv, layouts_.dv);

  // dS = scale * P * (dropout(dO V^T) - D); dK = dS^T Q; dQ = dS K
  const Tensor* d_p = &graph_.intermediate(layouts_.scores);
  graph_.matmul(d_o, v_transposed, *d_p, {rows_, keys_, nullptr});
  if (drops()) d_p = &graph_.pointwise(Mode::kMultiply, {d_p, mask});
  const Tensor* d_s = &graph_.pointwise(Mode::kSubtract, {d_p, &delta});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &p});
  if (drops()) d_s = &graph_.pointwise(Mode::kMultiply, {d_s, keep_scale});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &scale_});
  key_gradient(*d_s, q, kDkOfHeads, kDk, layouts_.dk);
  query_gradient(*d_s, k_transposed, k_offsets, is_deterministic);
}

/// Elements of a gradient whose heads are adjacent.
std::size_t elements_of_tokens(std::size_t tokens, const RowStrides& strides) {
  return tokens * static_cast<std::size_t>(strides.seqlen);
}

}  // namespace

AttentionStrides contiguous_strides(const Problem& problem) {
  if (problem.lengths) return contiguous_strides(problem.packed());
  const RowStrides of_queries = contiguous_strides(query_shape(problem));
  const RowStrides of_keys = contiguous_strides(key_shape(problem));
  return {of_queries, of_keys, of_keys, of_queries, of_queries, of_queries, of_keys, of_keys};
}

std::vector<RaggedOffsets> ragged_offsets(const RaggedBatch& batch,
                                          const AttentionStrides& strides) {
  const auto of_rows = [&](const RowStrides& of) { return batch.first_rows(of.seqlen); };
  const auto of_keys = [&](const RowStrides& of) { return batch.first_keys(of.seqlen); };
  return {{kQ, of_rows(strides.q)},   {kK, of_keys(strides.k)},    {kV, of_keys(strides.v)},
          {kO, of_rows(strides.o)},   {kLse, batch.first_rows(1)}, {kDO, of_rows(strides.d_o)},
          {kDq, of_rows(strides.dq)}, {kDk, of_keys(strides.dk)},  {kDv, of_keys(strides.dv)}};
}

std::size_t delta_elements(const Problem& problem, const RaggedBatch* ragged) {
  return static_cast<std::size_t>(batch_of(problem, ragged) * problem.heads *
                                  rows_of(problem, ragged));
}

std::size_t dq_sum_elements(const Problem& problem, const RaggedBatch* ragged) {
  return delta_elements(problem, ragged) * static_cast<std::size_t>(problem.head_dim);
}

std::size_t elements_of_heads(const Problem& problem, const RowStrides& gradient) {
  const auto group_size = static_cast<std::size_t>(problem.group_size());
  if (group_size == 1) return 0;
  return group_size *
         (problem.lengths ? elements_of_tokens(problem.total_k(), gradient) : problem.k_elements());
}

void add_forward(Graph& graph, const AttentionPlan& plan) { Builder(graph, plan).forward(); }

void add_backward(Graph& graph, const AttentionPlan& plan, bool is_deterministic) {
  Builder(graph, plan).backward(is_deterministic);
}

}  // namespace sparkbench::cudnn
