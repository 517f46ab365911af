#include "reference/encoder/layer_errors.h"

#include <algorithm>
#include <span>
#include <utility>

namespace sparkbench {
namespace {

template <class Real>
Matrix<Real> input_of(const LayerShape& shape, const Problem& problem,
                      const std::vector<Half>& tensor) {
  return matrix_of<Real>(tensor, problem.total_q(), static_cast<std::size_t>(shape.hidden));
}

ErrorMetrics error_of(const Matrix<float>& got, const Matrix<double>& want) {
  return error_metrics(std::span<const float>(got.values), std::span<const double>(want.values));
}

LayerShape with_rest(LayerShape shape, Rest rest) {
  shape.rest = rest;
  return shape;
}

/// An exact value as an fp16 number, for both arithmetics.
struct StageInput {
  explicit StageInput(const Matrix<double>& exact)
      : half(matrix_of<float>(halves_of(exact), exact.rows, exact.columns)),
        full(matrix_of<double>(halves_of(exact), exact.rows, exact.columns)) {}
  Matrix<float> half;
  Matrix<double> full;
};

/// The errors of each stage, given exact inputs.
class StageErrors {
 public:
  StageErrors(const LayerStages<HalfMath>& half, const LayerStages<ExactMath>& full,
              const LayerRows& rows, const LayerValues<double>& values, const Matrix<double>& x)
      : half_(half), full_(full), rows_(rows), values_(values), x_(x) {}

  std::vector<PartError> all(const AttentionFunctions<float>& attention,
                             const AttentionFunctions<double>& exact_attention) {
    const bool is_post = full_.shape().norm == NormPlace::kPost;
    const StageInput x(rows_from(x_, rows_.first, rows_.count));
    if (!is_post) add("ln1", half_.norm(x.half, 0), full_.norm(x.full, 0));
    qkv(is_post ? x : StageInput(rows_from(values_.n1, rows_.first, rows_.count)));
    mha(attention, exact_attention);
    const StageInput o(values_.o), h(values_.first.norm), g(values_.inner.g);
    add("proj", half_.proj(o.half), full_.proj(o.full));
    const StageInput a(full_.proj(values_.o));
    normed(is_post ? "ln1" : "ln2", DropoutSite::kFirst, a, x, is_post ? 0 : 1);
    add("ff1", half_.ff1(h.half).g, full_.ff1(h.full).g);
    add("ff2", half_.ff2(g.half), full_.ff2(g.full));
    if (is_post) normed("ln2", DropoutSite::kSecond, StageInput(full_.ff2(values_.inner.g)), h, 1);
    return std::move(errors_);
  }

 private:
  void add(const char* name, const Matrix<float>& got, const Matrix<double>& want) {
    errors_.push_back({name, error_of(got, want)});
  }
  void qkv(const StageInput& input) {
    Matrix<float> got(input.half.rows, 3 * input.half.columns);
    Matrix<double> want(got.rows, got.columns);
    for (std::size_t part = 0; part < 3; ++part) {
      const Matrix<float> half = half_.qkv(input.half, part);
      const Matrix<double> full = full_.qkv(input.full, part);
      for (std::size_t i = 0; i < half.rows; ++i) {
        std::ranges::copy(half.row(i), got.row(i).subspan(part * half.columns).begin());
        std::ranges::copy(full.row(i), want.row(i).subspan(part * half.columns).begin());
      }
    }
    add("qkv", got, want);
  }
  void mha(const AttentionFunctions<float>& attention,
           const AttentionFunctions<double>& exact_attention) {
    const StageInput q(values_.q), k(values_.k), v(values_.v);
    const int first = static_cast<int>(rows_.first);
    add("mha", attention.forward(q.half, k.half, v.half, first),
        exact_attention.forward(q.full, k.full, v.full, first));
  }
  void normed(const char* name, DropoutSite site, const StageInput& x, const StageInput& residual,
              std::size_t which) {
    add(name, half_.add_norm(site, x.half, residual.half, which, rows_.first).norm,
        full_.add_norm(site, x.full, residual.full, which, rows_.first).norm);
  }

  const LayerStages<HalfMath>& half_;
  const LayerStages<ExactMath>& full_;
  LayerRows rows_;
  const LayerValues<double>& values_;
  const Matrix<double>& x_;
  std::vector<PartError> errors_;
};

}  // namespace

LayerCheck::LayerCheck(const LayerShape& shape, const Problem& problem, const LayerTensors& tensors,
                       const LayerRows& rows, bool has_backward)
    : shape_(shape),
      problem_(problem),
      tensors_(tensors),
      rows_(rows),
      has_backward_(has_backward),
      exact_({}, shape, problem, tensors.weights),
      exact_attention_(exact_attention(problem)) {
  const Matrix<double> x = input_of<double>(shape, problem, tensors.x);
  values_ = layer_forward(exact_, x, rows_, exact_attention_);
  if (!has_backward) return;
  gradients_ = LayerBackward<ExactMath>(exact_, x, values_, exact_attention_)
                   .run(input_of<double>(shape, problem, tensors.d_y));
}

std::vector<PartError> LayerCheck::errors(const TensorCores& tensor_cores, Rest rest,
                                          const AttentionFunctions<float>& attention) const {
  const LayerShape shape = with_rest(shape_, rest);
  const LayerStages<HalfMath> half(HalfMath{tensor_cores}, shape, problem_, tensors_.weights);
  const LayerStages<ExactMath> full({}, shape, problem_, tensors_.weights);
  const Matrix<float> x = input_of<float>(shape, problem_, tensors_.x);
  const LayerValues<float> values = layer_forward(half, x, rows_, attention);
  std::vector<PartError> errors = {
      {"output", error_of(values.y(shape.norm), values_.y(shape.norm))},
      {"before_residual", error_of(values.second.branch, values_.second.branch)}};
  for (PartError& each :
       StageErrors(half, full, rows_, values_, input_of<double>(shape, problem_, tensors_.x))
           .all(attention, exact_attention_)) {
    errors.push_back(std::move(each));
  }
  if (!has_backward_) return errors;
  const LayerGradients<float> gradients = LayerBackward<HalfMath>(half, x, values, attention)
                                              .run(input_of<float>(shape, problem_, tensors_.d_y));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    errors.push_back(
        {std::string(gradients[i].first), error_of(gradients[i].second, gradients_.at(i).second)});
  }
  return errors;
}

std::vector<PartError> LayerCheck::errors(const LayerOutputs& outputs) const {
  const auto hidden = static_cast<std::size_t>(shape_.hidden);
  const std::span<const Half> y =
      std::span(outputs.y).subspan(rows_.first * hidden, rows_.count * hidden);
  std::vector<PartError> errors = {
      {"output", error_metrics(y, std::span<const double>(values_.y(shape_.norm).values))}};
  if (!has_backward_) return errors;
  for (const auto& [name, want] : gradients_) {
    const auto got = std::ranges::find(
        outputs.gradients, name, [](const auto& each) { return std::string_view(each.first); });
    errors.push_back({std::string(name), error_metrics(std::span<const Half>(got->second),
                                                       std::span<const double>(want.values))});
  }
  return errors;
}

double layer_check_flops(const LayerShape& shape, const Problem& problem, const LayerRows& rows,
                         bool has_backward) {
  const double hidden = shape.hidden, ffn = shape.ffn, seqlen = problem.seqlen_q;
  const auto count = static_cast<double>(rows.count);
  const double of_keys = 2 * seqlen * 2 * hidden * hidden;
  const double of_rows = 2 * count * (2 * hidden * hidden + 2 * hidden * ffn + 2 * seqlen * hidden);
  // The stages by themselves: as much again, for the rows only.
  const double of_stages = of_rows + 2 * count * 2 * hidden * hidden;
  return of_keys + of_rows + of_stages + (has_backward ? 2 * (of_keys + of_rows) : 0);
}

}  // namespace sparkbench
