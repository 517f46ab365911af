#include "reference/encoder/exact_gpu_stages.h"

#include <string>

#include "reference/encoder/exact_gpu_attention.h"
#include "reference/inputs/dropout_mask.h"

namespace sparkbench {
namespace {

class ExactStage {
 public:
  ExactStage(const LayerShape& shape, const Problem& problem, const LayerWeights& weights,
             const StageInputs& inputs, cublasContext* cublas)
      : shape_(shape),
        problem_(problem),
        weights_(weights),
        inputs_(inputs),
        products_(cublas),
        tokens_(static_cast<int>(problem.total_q())) {}

  DoubleMatrix output(Stage stage) const {
    const bool is_post = shape_.norm == NormPlace::kPost;
    switch (stage) {
      case Stage::kQkv:
        return linear(stage, weights_.w_qkv, weights_.b_qkv, 3 * shape_.hidden, true);
      case Stage::kMha:
        return attend();
      case Stage::kProj:
        return linear(stage, weights_.w_o, weights_.b_o, shape_.hidden, !is_fused());
      case Stage::kLn1:
        if (!is_post) return normalized(input(stage, 0), 0);
        return added_and_normalized(stage, DropoutSite::kFirst, weights_.b_o, 0);
      case Stage::kFf1:
        return expand();
      case Stage::kFf2:
        return linear(stage, weights_.w_2, weights_.b_2, shape_.hidden, !is_fused());
      case Stage::kLn2:
        if (!is_post) return added_and_normalized(stage, DropoutSite::kFirst, weights_.b_o, 1);
        return added_and_normalized(stage, DropoutSite::kSecond, weights_.b_2, 1);
    }
    throw std::invalid_argument("no stage of a layer");
  }

 private:
  bool is_fused() const { return shape_.rest == Rest::kFused; }

  DoubleMatrix input(Stage stage, std::size_t which) const {
    const std::string_view name = tensors_of_stage(shape_.norm, stage).inputs.at(which);
    const std::vector<Half>& halves = stage_input(inputs_, name, shape_.rest);
    return {halves, tokens_, static_cast<int>(halves.size()) / tokens_};
  }
  static DoubleMatrix vector_of(const std::vector<Half>& halves) {
    return {halves, 1, static_cast<int>(halves.size())};
  }

  /// x W^T (+ b)
  DoubleMatrix linear(Stage stage, const std::vector<Half>& weight, const std::vector<Half>& bias,
                      int columns, bool has_bias) const {
    const DoubleMatrix x = input(stage, 0);
    const DoubleMatrix matrix(weight, columns, x.extents().columns);
    DoubleMatrix y(tokens_, columns);
    products_.multiply(x.view(), matrix.view().transposed(), y.view());
    if (has_bias) {
      exact_add_bias(y.data(), vector_of(bias).data(), y.extents(), nullptr);
    }
    CUDA_CHECK(cudaDeviceSynchronize());  // before the operands are freed
    return y;
  }

  DoubleMatrix attend() const {
    const ExactGpuAttention attention(problem_, products_);
    DoubleMatrix o(tokens_, shape_.hidden);
    attention.forward(input(Stage::kMha, 0), o);
    return o;
  }

  DoubleMatrix expand() const {
    DoubleMatrix u = linear(Stage::kFf1, weights_.w_1, weights_.b_1, shape_.ffn, true);
    exact_activate(shape_.activation, u.data(), u.data(), u.extents(), nullptr);
    return u;
  }

  DoubleMatrix normalized(const DoubleMatrix& z, int which) const {
    const DoubleMatrix gamma = vector_of(which == 0 ? weights_.gamma_1 : weights_.gamma_2);
    const DoubleMatrix beta = vector_of(which == 0 ? weights_.beta_1 : weights_.beta_2);
    DoubleMatrix norm(tokens_, shape_.hidden);
    exact_norm(z.data(), gamma.data(), beta.data(), norm.data(), z.extents(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    return norm;
  }

  /// If the rest is fused, the bias belongs to this stage.
  DoubleMatrix added_and_normalized(Stage stage, DropoutSite site, const std::vector<Half>& bias,
                                    int which) const {
    const DoubleMatrix x = input(stage, 0), residual = input(stage, 1);
    if (is_fused()) exact_add_bias(x.data(), vector_of(bias).data(), x.extents(), nullptr);
    const ExactDropout dropout{problem_.dropout(), exact_keep_scale(problem_)};
    exact_drop(x.data(), x.data(), dropout, site, x.extents(), nullptr);
    exact_add(x.data(), residual.data(), x.data(), x.extents(), nullptr);
    return normalized(x, which);
  }

  const LayerShape& shape_;
  const Problem& problem_;
  const LayerWeights& weights_;
  const StageInputs& inputs_;
  ExactProducts products_;
  int tokens_;
};

}  // namespace

StageTensors tensors_of_stage(NormPlace norm, Stage stage) {
  const bool is_post = norm == NormPlace::kPost;
  switch (stage) {
    case Stage::kQkv:
      return {{is_post ? "x" : "n1"}, "qkv"};
    case Stage::kMha:
      return {{"qkv"}, "o"};
    case Stage::kProj:
      return {{"o"}, "a"};
    case Stage::kLn1:
      if (!is_post) return {{"x"}, "n1"};
      return {{"a", "x"}, "h"};
    case Stage::kFf1:
      return {{is_post ? "h" : "n2"}, "g"};
    case Stage::kFf2:
      return {{"g"}, "f"};
    case Stage::kLn2:
      if (!is_post) return {{"a", "x"}, "n2"};
      return {{"f", "h"}, "y"};
  }
  throw std::invalid_argument("no stage of a layer");
}

const std::vector<Half>& stage_input(const StageInputs& inputs, std::string_view name, Rest rest) {
  const auto biased = inputs.find(std::string(name) + kBehindBias);
  if (rest == Rest::kUnfused && biased != inputs.end()) return biased->second;
  const auto found = inputs.find(name);
  if (found != inputs.end()) return found->second;
  throw std::out_of_range("no stage reads " + std::string(name));
}

std::vector<double> exact_stage_on_gpu(Stage stage, const LayerShape& shape, const Problem& problem,
                                       const LayerWeights& weights, const StageInputs& inputs,
                                       cublasContext* cublas) {
  return ExactStage(shape, problem, weights, inputs, cublas).output(stage).download();
}

}  // namespace sparkbench
