#include "reference/cudnn/attention_graph.h"

#include <limits>

namespace sparkbench::cudnn {
namespace {

using Mode = PointwiseMode;

constexpr std::size_t kFirstVersionWithInfinity = 91000;

/// The layouts of a problem's tensors, in memory and between operations.
struct Layouts {
  explicit Layouts(const Problem& problem)
      : batch(problem.batch),
        heads(problem.heads),
        rows(problem.seqlen_q),
        keys(problem.seqlen_k),
        head_dim(problem.head_dim),
        q(of_tokens(rows)),
        k(of_tokens(keys)),
        scores({{batch, heads, rows, keys}, {heads * rows * keys, rows * keys, keys, 1}}),
        row({{batch, heads, rows, 1}, {heads * rows, rows, 1, 1}}) {}

  std::int64_t batch, heads, rows, keys, head_dim;
  Layout q, k;    // also those of o and d_o, of v
  Layout scores;  // [batch, heads, seqlen_q, seqlen_k]
  Layout row;     // [batch, heads, seqlen_q, 1]

 private:
  Layout of_tokens(std::int64_t tokens) const {
    return {{batch, heads, tokens, head_dim},
            {tokens * heads * head_dim, head_dim, heads * head_dim, 1}};
  }
};

/// A problem's graph in the making.
class Builder {
 public:
  Builder(Graph& graph, const Problem& problem, std::size_t library_version)
      : graph_(graph),
        problem_(problem),
        layouts_(problem),
        scale_(graph.scalar(problem.scale())),
        minus_infinity_(library_version < kFirstVersionWithInfinity
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
  const Tensor& softmax(const Tensor& scores);
  const Tensor& kept_mask();
  const Tensor& row_dots(const Tensor& d_o, const Tensor& o);
  const Tensor& transposed_half(const Tensor& scores);

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

/// Keeps column <= row + seqlen_k - seqlen_q.
const Tensor& Builder::masked(const Tensor& scores) {
  if (problem_.mask == MaskSpec::full()) return scores;
  const Tensor* row = &graph_.index(scores, 2);
  const Tensor& column = graph_.index(scores, 3);
  if (problem_.seqlen_q != problem_.seqlen_k) {
    row = &graph_.pointwise(Mode::kAdd, {row, &graph_.scalar(problem_.seqlen_k)}, DataType::kInt32);
    row = &graph_.pointwise(Mode::kSubtract, {row, &graph_.scalar(problem_.seqlen_q)},
                            DataType::kInt32);
  }
  const Tensor& is_visible =
      graph_.pointwise(Mode::kGreaterOrEqual, {row, &column}, DataType::kBoolean);
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
    graph_.pointwise(Mode::kMultiply, {&kept, &graph_.scalar(problem_.dropout().keep_scale())},
                     rescaled);
    p = &rescaled;
  }
  graph_.matmul(*p, half_tensor(kV, layouts_.k), half_tensor(kO, layouts_.q));
}

/// D = rowsum(dO * O), times 1 - p where values are dropped: the scale 1 / (1 - p) multiplies the
/// difference dP - D in the end.
const Tensor& Builder::row_dots(const Tensor& d_o, const Tensor& o) {
  const std::int64_t rows = layouts_.rows, heads = layouts_.heads, head_dim = layouts_.head_dim;
  const Tensor& products = graph_.intermediate(
      {layouts_.q.extents, {heads * rows * head_dim, rows * head_dim, heads * head_dim, 1}});
  graph_.pointwise(Mode::kMultiply, {&d_o, &o}, products);
  const Tensor& sums = graph_.intermediate(layouts_.row);
  graph_.reduce(ReductionOperator::kAdd, products, sums);
  const Tensor& delta = graph_.tensor(kDelta, DataType::kFloat, layouts_.row);
  const float keep = drops() ? 1.0f - problem_.dropout().applied_p() : 1.0f;
  graph_.pointwise(Mode::kMultiply, {&sums, &graph_.scalar(keep)}, delta);
  return delta;
}

const Tensor& Builder::transposed_half(const Tensor& scores) {
  const Tensor& result = graph_.intermediate(transposed(layouts_.scores), DataType::kHalf);
  graph_.reshape(scores, result);
  return result;
}

void Builder::backward(bool is_deterministic) {
  const Tensor& q = half_tensor(kQ, layouts_.q);
  const Tensor& k_transposed = half_tensor(kK, transposed(layouts_.k));
  const Tensor& v_transposed = half_tensor(kV, transposed(layouts_.k));
  const Tensor& d_o = half_tensor(kDO, layouts_.q);
  const Tensor& lse = graph_.tensor(kLse, DataType::kFloat, layouts_.row);
  const Tensor* mask = drops() ? &kept_mask() : nullptr;
  const Tensor* keep_scale = drops() ? &graph_.scalar(problem_.dropout().keep_scale()) : nullptr;
  const Tensor& delta = row_dots(d_o, half_tensor(kO, layouts_.q));

  // P = exp(S - LSE), the mask after the subtraction; dV = dropout(P)^T dO
  const Tensor& s = scaled_scores(q, k_transposed);
  const Tensor& p =
      graph_.pointwise(Mode::kExp, {&masked(graph_.pointwise(Mode::kSubtract, {&s, &lse}))});
  const Tensor* dropped_p = &p;
  if (drops()) {
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, mask});
    dropped_p = &graph_.pointwise(Mode::kMultiply, {dropped_p, keep_scale});
  }
  graph_.matmul(transposed_half(*dropped_p), d_o, half_tensor(kDv, layouts_.k));

  // dS = scale * P * (dropout(dO V^T) - D); dK = dS^T Q
  const Tensor* d_p = &graph_.intermediate(layouts_.scores);
  graph_.matmul(d_o, v_transposed, *d_p);
  if (drops()) d_p = &graph_.pointwise(Mode::kMultiply, {d_p, mask});
  const Tensor* d_s = &graph_.pointwise(Mode::kSubtract, {d_p, &delta});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &p});
  if (drops()) d_s = &graph_.pointwise(Mode::kMultiply, {d_s, keep_scale});
  d_s = &graph_.pointwise(Mode::kMultiply, {d_s, &scale_});
  graph_.matmul(transposed_half(*d_s), q, half_tensor(kDk, layouts_.k));

  // dQ = dS K: summed in memory, or by one block for each tile of queries
  const Tensor& k = graph_.intermediate(layouts_.k, DataType::kHalf);
  graph_.reshape(k_transposed, k);
  const Tensor& dq = half_tensor(kDq, layouts_.q);
  if (is_deterministic) return graph_.matmul(*d_s, k, dq);
  const std::int64_t rows = layouts_.rows, head_dim = layouts_.head_dim;
  const Tensor& dq_sum = graph_.tensor(
      kDqSum, DataType::kFloat,
      {layouts_.q.extents, {layouts_.heads * rows * head_dim, rows * head_dim, head_dim, 1}});
  graph_.matmul(*d_s, k, dq_sum);
  graph_.pointwise(Mode::kIdentity, {&dq_sum}, dq);
}

}  // namespace

std::optional<std::string> why_no_graph(const Problem& problem) {
  if (problem.mask == MaskSpec::full() || problem.seqlen_q == problem.seqlen_k) return std::nullopt;
  if (problem.seqlen_q > problem.seqlen_k) return "rows without a visible key";
  if (problem.dropout().threshold == 0) return std::nullopt;
  return "dropout under a causal mask of unequal lengths";
}

void add_forward(Graph& graph, const Problem& problem, std::size_t library_version) {
  Builder(graph, problem, library_version).forward();
}

void add_backward(Graph& graph, const Problem& problem, bool is_deterministic,
                  std::size_t library_version) {
  Builder(graph, problem, library_version).backward(is_deterministic);
}

}  // namespace sparkbench::cudnn
