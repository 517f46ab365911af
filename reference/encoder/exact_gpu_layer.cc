#include "reference/encoder/exact_gpu_layer.h"

#include "reference/encoder/exact_gpu_attention.h"
#include "reference/inputs/dropout_mask.h"

namespace sparkbench {
namespace {

/// Runs on the default stream.
class ExactLayer {
 public:
  ExactLayer(const LayerShape& shape, const Problem& problem, const LayerTensors& tensors,
             cublasContext* cublas)
      : shape_(shape),
        problem_(problem),
        tensors_(tensors),
        products_(cublas),
        attention_(problem, products_),
        tokens_(static_cast<int>(problem.total_q())),
        hidden_(shape.hidden),
        ffn_(shape.ffn),
        is_post_(shape.norm == NormPlace::kPost),
        dropout_{problem.dropout(), exact_keep_scale(problem)} {}

  ExactLayerResult run(bool has_backward) {
    ExactLayerResult result;
    stage_inputs_ = &result.stage_inputs;
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
    return {halves, rows, columns};
  }

  /// y = x W^T + b
  void linear(const DoubleMatrix& x, const DoubleMatrix& weight, const DoubleMatrix& bias,
              const DoubleMatrix& y) const {
    products_.multiply(x.view(), weight.view().transposed(), y.view());
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

  /// Stores the input of a stage by its name in layer_steps().
  void give(const char* name, const DoubleMatrix& tensor) const {
    (*stage_inputs_)[name] = tensor.download_halves();
  }
  /// Stores the result before its bias, which a fused stage leaves to the next stage, and after it.
  void linear_and_give(const DoubleMatrix& x, const DoubleMatrix& weight, const DoubleMatrix& bias,
                       const DoubleMatrix& y, const std::string& name) const {
    products_.multiply(x.view(), weight.view().transposed(), y.view());
    give(name.c_str(), y);
    exact_add_bias(y.data(), bias.data(), y.extents(), nullptr);
    give((name + kBehindBias).c_str(), y);
  }

  void forward() {
    if (!is_post_) normalize(x_, 0, norm0_);
    give("x", x_);
    if (!is_post_) give("n1", norm0_);
    linear(is_post_ ? x_ : norm0_, w_qkv_, b_qkv_, qkv_);
    give("qkv", qkv_);
    attention_.forward(qkv_, o_);
    give("o", o_);
    {
      const DoubleMatrix a = wide();
      linear_and_give(o_, w_o_, b_o_, a, "a");
      add_branch(DropoutSite::kFirst, a, x_, sum1_);
    }
    normalize(sum1_, is_post_ ? 0 : 1, norm1_);
    give(is_post_ ? "h" : "n2", norm1_);
    linear(norm1_, w_1_, b_1_, u_);
    exact_activate(shape_.activation, u_.data(), g_.data(), u_.extents(), nullptr);
    give("g", g_);
    linear_and_give(g_, w_2_, b_2_, branch2_, "f");
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
    products_.multiply(d_y.view().transposed(), x.view(), d_weight.view());
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
    products_.multiply(d_f.view(), w_2_.view(), d_u.view());
    exact_activate_backward(shape_.activation, d_u.data(), u_.data(), d_u.data(), d_u.extents(),
                            nullptr);
    weight_gradients("dW1", "db1", d_u, norm1_);
    DoubleMatrix d_input = wide();
    products_.multiply(d_u.view(), w_1_.view(), d_input.view());
    return d_input;
  }
  DoubleMatrix attention_backward(const DoubleMatrix& d_a, const DoubleMatrix& input) {
    weight_gradients("dWo", "dbo", d_a, o_);
    DoubleMatrix d_o = wide();
    products_.multiply(d_a.view(), w_o_.view(), d_o.view());
    const DoubleMatrix d_qkv(tokens_, 3 * hidden_);
    attention_.backward(qkv_, d_o, d_qkv);
    weight_gradients("dWqkv", "dbqkv", d_qkv, input);
    products_.multiply(d_qkv.view(), w_qkv_.view(), d_o.view());
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
  ExactProducts products_;
  ExactGpuAttention attention_;
  int tokens_, hidden_, ffn_;
  bool is_post_;
  ExactDropout dropout_;
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
  StageInputs* stage_inputs_ = nullptr;
};

}  // namespace

ExactLayerResult exact_layer_on_gpu(const LayerShape& shape, const Problem& problem,
                                    const LayerTensors& tensors, bool has_backward,
                                    cublasContext* cublas) {
  return ExactLayer(shape, problem, tensors, cublas).run(has_backward);
}

}  // namespace sparkbench
