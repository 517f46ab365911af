#include "reference/cudnn/attention_graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sparkbench::cudnn {
namespace {

using Mode = PointwiseMode;

constexpr std::size_t kFirstVersionWithInfinity = 91000;
/// Before it, left bounds are for some devices, lengths and masks only; in one version after it
/// they are wrong where more than 1024 keys are seen past the diagonal (cudnn-frontend, same node).
constexpr std::size_t kFirstVersionWithLeftBounds = 91002;
constexpr std::size_t kVersionWithWrongBands = 91400;
constexpr int kMostKeysOfWrongVersion = 1024;

/// The layouts of a problem's tensors, in memory and between operations.
struct Layouts {
  Layouts(const Problem& problem, const AttentionStrides& strides)
      : batch(problem.batch),
        heads(problem.heads),
        key_heads(problem.key_heads()),
        rows(problem.seqlen_q),
        keys(problem.seqlen_k),
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
        row({{batch, heads, rows, 1}, {heads * rows, rows, 1, 1}}) {}

  std::int64_t batch, heads, key_heads, rows, keys, head_dim;
  Layout q, k, v, o, d_o, dq, dk, dv;
  Layout scores;  // [batch, heads, seqlen_q, seqlen_k]
  Layout row;     // [batch, heads, seqlen_q, 1]

 private:
  Layout of_queries(const RowStrides& strides) const {
    return {{batch, heads, rows, head_dim}, {strides.batch, strides.head, strides.seqlen, 1}};
  }
  Layout of_keys(const RowStrides& strides) const {
    return {{batch, key_heads, keys, head_dim}, {strides.batch, strides.head, strides.seqlen, 1}};
  }
};

bool hides_nothing(const KeyMask& mask) {
  return mask.all_see({0, mask.seqlen_q}, {0, mask.seqlen_k});
}

/// A mask as cuDNN counts it, from the key at which a row stands.
struct DiagonalBounds {
  std::optional<std::int32_t> keys_before;  // that a row sees, its own included; nothing: all
  std::int32_t keys_after;                  // that it sees behind its own
};

/// Nothing where a mask is not bounded by diagonals, and where it hides no key. Bounds further away
/// than there are keys hide as much as the nearest of these.
std::optional<DiagonalBounds> diagonal_bounds(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  if (hides_nothing(mask) || mask.prefix > 0) return std::nullopt;
  const int to_p = problem.seqlen_k - problem.seqlen_q;
  DiagonalBounds bounds{std::nullopt, std::min(mask.end_offset - to_p - 1, problem.seqlen_k)};
  const bool hides_on_the_left = mask.keys(problem.seqlen_q - 1).begin > 0;
  if (hides_on_the_left) bounds.keys_before = to_p - mask.begin_offset + 1;
  return bounds;
}

/// A problem's graph in the making.
class Builder {
 public:
  Builder(Graph& graph, const AttentionPlan& plan)
      : graph_(graph),
        problem_(plan.problem),
        layouts_(plan.problem, plan.strides),
        scale_(graph.scalar(plan.problem.scale())),
        minus_infinity_(plan.library_version < kFirstVersionWithInfinity
                            ? std::numeric_limits<float>::lowest()
                            : -std::numeric_limits<float>::infinity()) {}

  void forward();
  void backward(bool is_deterministic);

 private:
  bool drops() const { return problem_.dropout().threshold != 0; }
  const Tensor& half_tensor(TensorId id, const Layout& layout) {
    return graph_.tensor(id, DataType::kHalf, layout);
  }

  const Tensor& scaled_scores(const Tensor& q, const Tensor& k_transposed);
  const Tensor& masked(const Tensor& scores);
  const Tensor& cut_right(const Tensor& scores, std::int32_t keys_after);
  const Tensor& cut_left(const Tensor& scores, std::int32_t keys);
  const Tensor& softmax(const Tensor& scores);
  const Tensor& kept_mask();
  const Tensor& row_dots(const Tensor& d_o, const Tensor& o);
  const Tensor& transposed_half(const Tensor& scores);
  void key_gradient(const Tensor& scores, const Tensor& queries, TensorId of_heads,
                    const Tensor& gradient);

  Graph& graph_;
  const Problem& problem_;
  Layouts layouts_;
  const Tensor& scale_;
  float minus_infinity_;
};

const Tensor& Builder::scaled_scores(const Tensor& q, const Tensor& k_transposed) {
  const Tensor& products = graph_.intermediate(layouts_.scores);
  graph_.matmul(q, k_transposed, products);
  return graph_.pointwise(Mode::kMultiply, {&products, &scale_});
}

/// One bound after the other, each with indices of its own.
const Tensor& Builder::masked(const Tensor& scores) {
  const std::optional<DiagonalBounds> bounds = diagonal_bounds(problem_);
  if (!bounds) return scores;
  const Tensor& cut = cut_right(scores, bounds->keys_after);
  return bounds->keys_before ? cut_left(cut, *bounds->keys_before) : cut;
}

/// Keeps column <= row + seqlen_k - seqlen_q + keys_after.
const Tensor& Builder::cut_right(const Tensor& scores, std::int32_t keys_after) {
  const Tensor* row = &graph_.index(scores, 2);
  const Tensor& column = graph_.index(scores, 3);
  if (problem_.seqlen_q != problem_.seqlen_k) {
    row = &graph_.pointwise(Mode::kAdd, {row, &graph_.scalar(problem_.seqlen_k)}, DataType::kInt32);
    row = &graph_.pointwise(Mode::kSubtract, {row, &graph_.scalar(problem_.seqlen_q)},
                            DataType::kInt32);
  }
  if (keys_after != 0) {
    row = &graph_.pointwise(Mode::kAdd, {row, &graph_.scalar(keys_after)}, DataType::kInt32);
  }
  const Tensor& is_visible =
      graph_.pointwise(Mode::kGreaterOrEqual, {row, &column}, DataType::kBoolean);
  return graph_.pointwise(Mode::kSelect, {&scores, &graph_.scalar(minus_infinity_), &is_visible});
}

/// Keeps column > row + seqlen_k - seqlen_q - keys. cuDNN wants this bound in fp32.
const Tensor& Builder::cut_left(const Tensor& scores, std::int32_t keys) {
  const Tensor& row = graph_.index(scores, 2);
  const Tensor* column = &graph_.index(scores, 3);
  const auto offset = static_cast<float>(keys - problem_.seqlen_k + problem_.seqlen_q);
  column = &graph_.pointwise(Mode::kAdd, {column, &graph_.scalar(offset)});
  const Tensor& is_visible = graph_.pointwise(Mode::kGreater, {column, &row}, DataType::kBoolean);
  return graph_.pointwise(Mode::kSelect, {&scores, &graph_.scalar(minus_infinity_), &is_visible});
}

/// And writes LSE = max + log(sum).
const Tensor& Builder::softmax(const Tensor& scores) {
  const Tensor& max = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kMax, scores, max);
  const Tensor& shifted = graph_.pointwise(Mode::kSubtract, {&scores, &max});
  const Tensor& exponentials = graph_.pointwise(Mode::kExp, {&shifted});
  const Tensor& sum = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kAdd, exponentials, sum);
  const Tensor& log_sum = graph_.pointwise(Mode::kLog, {&sum});
  graph_.pointwise(Mode::kAdd, {&max, &log_sum},
                   graph_.tensor(kLse, DataType::kFloat, layouts_.row));
  const Tensor& p =
      graph_.intermediate(layouts_.scores, drops() ? DataType::kFloat : DataType::kHalf);
  graph_.pointwise(Mode::kDivide, {&exponentials, &sum}, p);
  return p;
}

/// 1 where a probability is kept, 0 where it is dropped.
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
  const Tensor* p = &softmax(masked(scaled_scores(q, k_transposed)));
  if (drops()) {
    const Tensor& kept = graph_.pointwise(Mode::kMultiply, {p, &kept_mask()});
    const Tensor& rescaled = graph_.intermediate(layouts_.scores, DataType::kHalf);
    graph_.pointwise(Mode::kMultiply, {&kept, &graph_.scalar(problem_.dropout().keep_scale)},
                     rescaled);
    p = &rescaled;
  }
  graph_.matmul(*p, half_tensor(kV, layouts_.v), half_tensor(kO, layouts_.o));
}

/// D = rowsum(dO * O), over what kept values are multiplied by: that multiplies the difference
/// dP - D in the end.
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

/// gradient = scores^T queries: of each head into memory first where heads share keys.
void Builder::key_gradient(const Tensor& scores, const Tensor& queries, TensorId of_heads,
                           const Tensor& gradient) {
  const Tensor& scores_transposed = transposed_half(scores);
  if (problem_.group_size() == 1) return graph_.matmul(scores_transposed, queries, gradient);
  const std::int64_t heads = layouts_.heads, keys = layouts_.keys, head_dim = layouts_.head_dim;
  const Tensor& products =
      half_tensor(of_heads, {{layouts_.batch, heads, keys, head_dim},
                             {heads * keys * head_dim, keys * head_dim, head_dim, 1}});
  graph_.matmul(scores_transposed, queries, products);
  graph_.reduce(ReductionOperator::kAdd, products, gradient);
}

void Builder::backward(bool is_deterministic) {
  const Tensor& q = half_tensor(kQ, layouts_.q);
  const Tensor& k_transposed = half_tensor(kK, transposed(layouts_.k));
  const Tensor& v_transposed = half_tensor(kV, transposed(layouts_.v));
  const Tensor& d_o = half_tensor(kDO, layouts_.d_o);
  const Tensor& lse = graph_.tensor(kLse, DataType::kFloat, layouts_.row);
  const Tensor* mask = drops() ? &kept_mask() : nullptr;
  const Tensor* keep_scale = drops() ? &graph_.scalar(problem_.dropout().keep_scale) : nullptr;
  const Tensor& delta = row_dots(d_o, half_tensor(kO, layouts_.o));

  // P = exp(S - LSE), the mask after the subtraction; dV = dropout(P)^T dO
  const Tensor& s = scaled_scores(q, k_transposed);
  const Tensor& p =
      graph_.pointwise(Mode::kExp, {&masked(graph_.pointwise(Mode::kSubtract, {&s, &lse}))});
  const Tensor* dropped_p = &p;
  if (drops()) {
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, mask});
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, keep_scale});
  }
  key_gradient(*dropped_p, d_o, kDvOfHeads, half_tensor(kDv, layouts_.dv));

  // dS = scale * P * (dropout(dO V^T) - D); dK = dS^T Q
  const Tensor* d_p = &graph_.intermediate(layouts_.scores);
  graph_.matmul(d_o, v_transposed, *d_p);
  if (drops()) d_p = &graph_.pointwise(Mode::kMultiply, {d_p, mask});
  const Tensor* d_s = &graph_.pointwise(Mode::kSubtract, {d_p, &delta});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &p});
  if (drops()) d_s = &graph_.pointwise(Mode::kMultiply, {d_s, keep_scale});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &scale_});
  key_gradient(*d_s, q, kDkOfHeads, half_tensor(kDk, layouts_.dk));

  // dQ = dS K: summed in memory, or by one block for each tile of queries
  const Tensor& k = graph_.intermediate(layouts_.k, DataType::kHalf);
  graph_.reshape(k_transposed, k);
  const Tensor& dq = half_tensor(kDq, layouts_.dq);
  if (is_deterministic) return graph_.matmul(*d_s, k, dq);
  const std::int64_t rows = layouts_.rows, head_dim = layouts_.head_dim;
  const Tensor& dq_sum = graph_.tensor(
      kDqSum, DataType::kFloat,
      {layouts_.q.extents, {layouts_.heads * rows * head_dim, rows * head_dim, head_dim, 1}});
  graph_.matmul(*d_s, k, dq_sum);
  graph_.pointwise(Mode::kIdentity, {&dq_sum}, dq);
}

}  // namespace

std::optional<std::string> why_no_graph(const Problem& problem, std::size_t library_version) {
  if (problem.head_dim % 8 != 0) {
    return "head_dim " + std::to_string(problem.head_dim) + " (multiples of 8 are supported)";
  }
  if (hides_nothing(problem.key_mask())) return std::nullopt;
  const std::optional<DiagonalBounds> bounds = diagonal_bounds(problem);
  if (!bounds) return "the mask " + name_of(problem.mask);
  if (bounds->keys_before) {
    if (library_version < kFirstVersionWithLeftBounds) {
      return "windows and bands before version 9.10.2";
    }
    if (library_version == kVersionWithWrongBands && bounds->keys_after > 0 &&
        problem.seqlen_k > kMostKeysOfWrongVersion) {
      return "bands of more than 1024 keys in version 9.14.0";
    }
  }
  if (problem.seqlen_q > problem.seqlen_k) return "rows without a visible key";
  if (problem.seqlen_q == problem.seqlen_k || problem.dropout().threshold == 0) return std::nullopt;
  return "dropout under a mask of unequal lengths";
}

AttentionStrides contiguous_strides(const Problem& problem) {
  const RowStrides of_queries = contiguous_strides(query_shape(problem));
  const RowStrides of_keys = contiguous_strides(key_shape(problem));
  return {of_queries, of_keys, of_keys, of_queries, of_queries, of_queries, of_keys, of_keys};
}

void add_forward(Graph& graph, const AttentionPlan& plan) { Builder(graph, plan).forward(); }

void add_backward(Graph& graph, const AttentionPlan& plan, bool is_deterministic) {
  Builder(graph, plan).backward(is_deterministic);
}

}  // namespace sparkbench::cudnn
