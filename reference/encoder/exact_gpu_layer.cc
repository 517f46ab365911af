#include "reference/encoder/exact_gpu_layer.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "kernels/machine/cuda_resources.h"
#include "reference/encoder/exact_kernels.h"

namespace sparkbench {
namespace {

constexpr int kRowsAtOnce = 1024;  // of a head's scores

void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = std::string("cublasDgemm: ") + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

/// A row-major matrix, or a part of a wider one.
struct DoubleView {
  double* data;
  int rows, columns, stride;
  bool is_transposed = false;

  DoubleView transposed() const { return {data, columns, rows, stride, !is_transposed}; }
};

class DoubleMatrix {
 public:
  DoubleMatrix(int rows, int columns)
      : rows_(rows),
        columns_(columns),
        memory_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) *
                sizeof(double)) {}

  double* data() const { return memory_.as<double>(); }
  std::size_t size() const { return memory_.bytes() / sizeof(double); }
  ExactExtents extents() const { return {rows_, columns_}; }
  DoubleView view() const { return {data(), rows_, columns_, columns_}; }
  DoubleView part(int first_row, int rows, int first_column, int columns) const {
    return {data() + std::ptrdiff_t{first_row} * columns_ + first_column, rows, columns, columns_};
  }
  std::vector<double> download() const {
    std::vector<double> host(size());
    CUDA_CHECK(cudaMemcpy(host.data(), data(), memory_.bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  int rows_, columns_;
  DeviceBuffer memory_;
};

/// On the default stream.
class ExactLayer {
 public:
  ExactLayer(const LayerShape& shape, const Problem& problem, const LayerTensors& tensors,
             cublasContext* cublas)
      : shape_(shape),
        problem_(problem),
        tensors_(tensors),
        cublas_(cublas),
        tokens_(problem.batch * problem.seqlen_q),
        hidden_(shape.hidden),
        ffn_(shape.ffn),
        is_post_(shape.norm == NormPlace::kPost),
        dropout_(problem.dropout()) {
    check(cublasSetStream(cublas_, nullptr));
  }

  ExactLayerResult run(bool has_backward) {
    ExactLayerResult result;
    forward();
    CUDA_CHECK(cudaDeviceSynchronize());
    result.output = (is_post_ ? norm2_ : sum2_).download();
    result.before_residual = branch2_.download();
    if (!has_backward) return result;
    gradients_ = &result.gradients;
    backward();
    CUDA_CHECK(cudaDeviceSynchronize());
    return result;
  }

 private:
  DoubleMatrix wide() const { return {tokens_, hidden_}; }
  DoubleMatrix uploaded(const std::vector<Half>& halves, int rows, int columns) const {
    const DeviceBuffer staged(halves.size() * sizeof(Half));
    CUDA_CHECK(
        cudaMemcpy(staged.as<Half>(), halves.data(), staged.bytes(), cudaMemcpyHostToDevice));
    DoubleMatrix matrix(rows, columns);
    exact_widen(staged.as<Half>(), matrix.data(), matrix.size(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    return matrix;
  }

  /// C = A B (+ C). cuBLAS is column-major: to it C is its transpose, B^T A^T.
  void multiply(const DoubleView& a, const DoubleView& b, const DoubleView& c,
                double of_c = 0) const {
    const double one = 1;
    const auto operation = [](const DoubleView& m) {
      return m.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    check(cublasDgemm(cublas_, operation(b), operation(a), c.columns, c.rows, a.columns, &one,
                      b.data, b.stride, a.data, a.stride, &of_c, c.data, c.stride));
  }

  template <class Body>
  void for_rows_of_heads(Body body) const {
    for (int b = 0; b < problem_.batch; ++b) {
      for (int h = 0; h < problem_.heads; ++h) {
        for (int row = 0; row < problem_.seqlen_q; row += kRowsAtOnce) {
          body(b, h, row, std::min(kRowsAtOnce, problem_.seqlen_q - row));
        }
      }
    }
  }
  ExactScores scores_of(int b, int h, int row) const {
    return {problem_.key_mask_of(b), dropout_, static_cast<std::uint32_t>(b * problem_.heads + h),
            row, static_cast<double>(problem_.scale())};
  }
  /// Of a head's Q (0), K (1), V (2) or their gradients.
  DoubleView head_rows(const DoubleMatrix& packed, int part, int b, int h, int row,
                       int rows) const {
    const int head_dim = problem_.head_dim;
    return packed.part(b * problem_.seqlen_q + row, rows, part * hidden_ + h * head_dim, head_dim);
  }
  DoubleView head_rows(const DoubleMatrix& matrix, int b, int h, int row, int rows) const {
    return head_rows(matrix, 0, b, h, row, rows);
  }

  void probabilities(int b, int h, int row, int rows, const DoubleMatrix& p,
                     const DoubleMatrix& dropped) const {
    const int keys = problem_.seqlen_k;
    multiply(head_rows(qkv_, 0, b, h, row, rows), head_rows(qkv_, 1, b, h, 0, keys).transposed(),
             p.part(0, rows, 0, keys));
    exact_softmax(p.data(), dropped.data(), scores_of(b, h, row), {rows, keys}, nullptr);
  }

  void attend() {
    const int keys = problem_.seqlen_k;
    const DoubleMatrix p(std::min(kRowsAtOnce, problem_.seqlen_q), keys),
        dropped(std::min(kRowsAtOnce, problem_.seqlen_q), keys);
    for_rows_of_heads([&](int b, int h, int row, int rows) {
      probabilities(b, h, row, rows, p, dropped);
      multiply(dropped.part(0, rows, 0, keys), head_rows(qkv_, 2, b, h, 0, keys),
               head_rows(o_, b, h, row, rows));
    });
  }

  void attend_backward(const DoubleMatrix& d_o, const DoubleMatrix& d_qkv) {
    const int keys = problem_.seqlen_k, most = std::min(kRowsAtOnce, problem_.seqlen_q);
    const DoubleMatrix p(most, keys), dropped(most, keys), d_scores(most, keys);
    for_rows_of_heads([&](int b, int h, int row, int rows) {
      probabilities(b, h, row, rows, p, dropped);
      const DoubleView of_o = head_rows(d_o, b, h, row, rows);
      const double of_before = row == 0 ? 0 : 1;
      multiply(dropped.part(0, rows, 0, keys).transposed(), of_o,
               head_rows(d_qkv, 2, b, h, 0, keys), of_before);
      multiply(of_o, head_rows(qkv_, 2, b, h, 0, keys).transposed(),
               d_scores.part(0, rows, 0, keys));
      exact_softmax_backward(p.data(), d_scores.data(), scores_of(b, h, row), {rows, keys},
                             nullptr);
      multiply(d_scores.part(0, rows, 0, keys), head_rows(qkv_, 1, b, h, 0, keys),
               head_rows(d_qkv, 0, b, h, row, rows));
      multiply(d_scores.part(0, rows, 0, keys).transposed(), head_rows(qkv_, 0, b, h, row, rows),
               head_rows(d_qkv, 1, b, h, 0, keys), of_before);
    });
  }

  /// y = x W^T + b
  void linear(const DoubleMatrix& x, const DoubleMatrix& weight, const DoubleMatrix& bias,
              const DoubleMatrix& y) const {
    multiply(x.view(), weight.view().transposed(), y.view());
    exact_add_bias(y.data(), bias.data(), y.extents(), nullptr);
  }
  void normalize(const DoubleMatrix& z, int which, const DoubleMatrix& norm) const {
    exact_norm(z.data(), gamma_[which].data(), beta_[which].data(), norm.data(), z.extents(),
               nullptr);
  }
  /// sum = residual + branch, branch = dropout(branch)
  void add_branch(DropoutSite site, const DoubleMatrix& branch, const DoubleMatrix& residual,
                  const DoubleMatrix& sum) const {
    exact_drop(branch.data(), branch.data(), dropout_, site, branch.extents(), nullptr);
    exact_add(branch.data(), residual.data(), sum.data(), sum.extents(), nullptr);
  }

  void forward() {
    if (!is_post_) normalize(x_, 0, norm0_);
    linear(is_post_ ? x_ : norm0_, w_qkv_, b_qkv_, qkv_);
    attend();
    {
      const DoubleMatrix a = wide();
      linear(o_, w_o_, b_o_, a);
      add_branch(DropoutSite::kFirst, a, x_, sum1_);
    }
    normalize(sum1_, is_post_ ? 0 : 1, norm1_);
    linear(norm1_, w_1_, b_1_, u_);
    exact_activate(shape_.activation, u_.data(), g_.data(), u_.extents(), nullptr);
    linear(g_, w_2_, b_2_, branch2_);
    add_branch(DropoutSite::kSecond, branch2_, is_post_ ? norm1_ : sum1_, sum2_);
    if (is_post_) normalize(sum2_, 1, norm2_);
  }

  void keep(const char* name, const DoubleMatrix& gradient) const {
    gradients_->emplace_back(name, gradient.download());
  }
  void keep_sums(const char* name, const DoubleMatrix& of) const {
    const DoubleMatrix sums(1, of.extents().columns);
    exact_column_sums(of.data(), sums.data(), of.extents(), nullptr);
    keep(name, sums);
  }
  void weight_gradients(const char* weight, const char* bias, const DoubleMatrix& d_y,
                        const DoubleMatrix& x) const {
    const DoubleMatrix d_weight(d_y.extents().columns, x.extents().columns);
    multiply(d_y.view().transposed(), x.view(), d_weight.view());
    keep(weight, d_weight);
    if (shape_.bias) keep_sums(bias, d_y);
  }
  DoubleMatrix norm_backward(const DoubleMatrix& d_norm, const DoubleMatrix& z, int which) const {
    DoubleMatrix d_z = wide();
    const DoubleMatrix d_gamma_rows = wide();
    exact_norm_backward(d_norm.data(), z.data(), gamma_[which].data(), d_z.data(),
                        d_gamma_rows.data(), z.extents(), nullptr);
    keep_sums(which == 0 ? "dgamma1" : "dgamma2", d_gamma_rows);
    keep_sums(which == 0 ? "dbeta1" : "dbeta2", d_norm);
    return d_z;
  }
  DoubleMatrix dropped(DropoutSite site, const DoubleMatrix& gradient) const {
    DoubleMatrix branch = wide();
    exact_drop(gradient.data(), branch.data(), dropout_, site, branch.extents(), nullptr);
    return branch;
  }
  DoubleMatrix sum(const DoubleMatrix& a, const DoubleMatrix& b) const {
    DoubleMatrix result = wide();
    exact_add(a.data(), b.data(), result.data(), result.extents(), nullptr);
    return result;
  }

  DoubleMatrix feed_forward_backward(const DoubleMatrix& d_f) {
    weight_gradients("dW2", "db2", d_f, g_);
    const DoubleMatrix d_u(tokens_, ffn_);
    multiply(d_f.view(), w_2_.view(), d_u.view());
    exact_activate_backward(shape_.activation, d_u.data(), u_.data(), d_u.data(), d_u.extents(),
                            nullptr);
    weight_gradients("dW1", "db1", d_u, norm1_);
    DoubleMatrix d_input = wide();
    multiply(d_u.view(), w_1_.view(), d_input.view());
    return d_input;
  }
  DoubleMatrix attention_backward(const DoubleMatrix& d_a, const DoubleMatrix& input) {
    weight_gradients("dWo", "dbo", d_a, o_);
    DoubleMatrix d_o = wide();
    multiply(d_a.view(), w_o_.view(), d_o.view());
    const DoubleMatrix d_qkv(tokens_, 3 * hidden_);
    attend_backward(d_o, d_qkv);
    weight_gradients("dWqkv", "dbqkv", d_qkv, input);
    multiply(d_qkv.view(), w_qkv_.view(), d_o.view());
    return d_o;
  }

  void backward() {
    const DoubleMatrix d_y = uploaded(tensors_.d_y, tokens_, hidden_);
    if (is_post_) {
      const DoubleMatrix d_z2 = norm_backward(d_y, sum2_, 1);
      const DoubleMatrix d_h =
          sum(d_z2, feed_forward_backward(dropped(DropoutSite::kSecond, d_z2)));
      const DoubleMatrix d_z1 = norm_backward(d_h, sum1_, 0);
      keep("dx", sum(d_z1, attention_backward(dropped(DropoutSite::kFirst, d_z1), x_)));
    } else {
      const DoubleMatrix d_norm1 = feed_forward_backward(dropped(DropoutSite::kSecond, d_y));
      const DoubleMatrix d_h = sum(d_y, norm_backward(d_norm1, sum1_, 1));
      const DoubleMatrix d_norm0 = attention_backward(dropped(DropoutSite::kFirst, d_h), norm0_);
      keep("dx", sum(d_h, norm_backward(d_norm0, x_, 0)));
    }
  }

  const LayerShape& shape_;
  const Problem& problem_;
  const LayerTensors& tensors_;
  cublasContext* cublas_;
  int tokens_, hidden_, ffn_;
  bool is_post_;
  Dropout dropout_;
  const LayerWeights& weights_ = tensors_.weights;
  DoubleMatrix w_qkv_ = uploaded(weights_.w_qkv, 3 * hidden_, hidden_);
  DoubleMatrix w_o_ = uploaded(weights_.w_o, hidden_, hidden_);
  DoubleMatrix w_1_ = uploaded(weights_.w_1, ffn_, hidden_);
  DoubleMatrix w_2_ = uploaded(weights_.w_2, hidden_, ffn_);
  DoubleMatrix b_qkv_ = uploaded(weights_.b_qkv, 1, 3 * hidden_);
  DoubleMatrix b_o_ = uploaded(weights_.b_o, 1, hidden_);
  DoubleMatrix b_1_ = uploaded(weights_.b_1, 1, ffn_);
  DoubleMatrix b_2_ = uploaded(weights_.b_2, 1, hidden_);
  DoubleMatrix gamma_[2] = {uploaded(weights_.gamma_1, 1, hidden_),
                            uploaded(weights_.gamma_2, 1, hidden_)};
  DoubleMatrix beta_[2] = {uploaded(weights_.beta_1, 1, hidden_),
                           uploaded(weights_.beta_2, 1, hidden_)};
  DoubleMatrix x_ = uploaded(tensors_.x, tokens_, hidden_);
  DoubleMatrix norm0_{is_post_ ? 0 : tokens_, hidden_};
  DoubleMatrix qkv_{tokens_, 3 * hidden_}, o_ = wide(), sum1_ = wide(), norm1_ = wide();
  DoubleMatrix u_{tokens_, ffn_}, g_{tokens_, ffn_};
  DoubleMatrix branch2_ = wide(), sum2_ = wide(), norm2_{is_post_ ? tokens_ : 0, hidden_};
  std::vector<std::pair<std::string, std::vector<double>>>* gradients_ = nullptr;
};

}  // namespace

ExactLayerResult exact_layer_on_gpu(const LayerShape& shape, const Problem& problem,
                                    const LayerTensors& tensors, bool has_backward,
                                    cublasContext* cublas) {
  return ExactLayer(shape, problem, tensors, cublas).run(has_backward);
}

}  // namespace sparkbench
