#include "reference/encoder/layer_steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/half.h"
#include "kernels/base/saturating.h"
#include "kernels/problem/credited_pairs.h"
#include "reference/encoder/eager_steps.h"

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, 7> kStageNames = {"qkv", "mha", "proj", "ln1",
                                                         "ff1", "ff2", "ln2"};

using Tensors = std::vector<LayerTensor>;

/// Builds the list: tensors by name, products by their extents.
class Steps {
 public:
  Steps(const LayerShape& shape, const Problem& problem)
      : shape_(shape),
        problem_(problem),
        tokens_(problem.total_q()),
        hidden_(static_cast<std::uint64_t>(shape.hidden)),
        ffn_(static_cast<std::uint64_t>(shape.ffn)),
        is_fused_(shape.rest == Rest::kFused),
        drops_(problem.dropout().threshold != 0) {}

  void forward() {
    if (shape_.norm == NormPlace::kPost) {
      attention_block("x");
      add_and_norm(Stage::kLn1, "a", "x", "z1", "h");
      feed_forward_block("h");
      add_and_norm(Stage::kLn2, "f", "h", "z2", "y");
    } else {
      rows(Stage::kLn1, "LayerNorm", {wide("x"), vectors("norm1", 2)}, {wide("n1")});
      attention_block("n1");
      add_and_norm(Stage::kLn2, "a", "x", "h", "n2");
      feed_forward_block("n2");
      add(Stage::kFf2, "f", "h", "y");
    }
  }

  void backward() {
    is_backward_ = true;
    if (shape_.norm == NormPlace::kPost) {
      norm_backward(Stage::kLn2, "dy", "z2", "dz2", "df", "");
      feed_forward_backward("h", "dh", "dz2");
      norm_backward(Stage::kLn1, "dh", "z1", "dz1", "da", "");
      attention_backward("x", "dx", "dz1");
    } else {
      drop_backward(Stage::kFf2, "dy", "df");
      feed_forward_backward("n2", "dn2", "");
      norm_backward(Stage::kLn2, "dn2", "h", "dh", "da", "dy");
      attention_backward("n1", "dn1", "");
      norm_backward(Stage::kLn1, "dn1", "x", "dx", "", "dh");
    }
  }

  std::vector<LayerStep> take() { return std::move(steps_); }

 private:
  LayerTensor half(std::string_view name, std::uint64_t elements, bool is_weight = false) const {
    const auto other = same_as_.find(name);
    return {std::string(other == same_as_.end() ? name : other->second),
            saturating_product({elements, sizeof(Half)}), is_weight};
  }
  LayerTensor wide(std::string_view name) const { return half(name, tokens_ * hidden_); }
  LayerTensor packed(std::string_view name) const { return half(name, 3 * tokens_ * hidden_); }
  LayerTensor broad(std::string_view name) const { return half(name, tokens_ * ffn_); }
  LayerTensor vectors(std::string_view name, std::uint64_t count) const {
    return half(name, count * hidden_, true);
  }
  LayerTensor lse() const { return {"lse", problem_.lse_elements() * sizeof(float), false}; }

  void step(Stage stage, StepKind kind, std::string_view name, std::uint64_t flops, Tensors reads,
            Tensors writes) {
    steps_.push_back({stage, kind, name, is_backward_, flops, std::move(reads), std::move(writes)});
  }
  void rows(Stage stage, std::string_view name, Tensors reads, Tensors writes) {
    step(stage, StepKind::kRows, name, 0, std::move(reads), std::move(writes));
  }
  /// [tokens, inner] by [inner, outer].
  void product(Stage stage, std::string_view name, std::uint64_t inner, std::uint64_t outer,
               Tensors reads, Tensors writes) {
    step(stage, StepKind::kProduct, name, saturating_product({2, tokens_, inner, outer}),
         std::move(reads), std::move(writes));
    steps_.back().least_extent = std::min({tokens_, inner, outer});
  }

  /// The product's bias where no epilogue adds it: in place.
  void bias(Stage stage, const Tensors& tensors) {
    if (!is_fused_ && shape_.bias) rows(stage, "bias", tensors, tensors);
  }

  void attention_block(std::string_view input) {
    product(Stage::kQkv, "Q, K, V = x Wqkv", hidden_, 3 * hidden_,
            {wide(input), half("Wqkv", 3 * hidden_ * hidden_, true)}, {packed("qkv")});
    bias(Stage::kQkv, {packed("qkv")});
    step(Stage::kMha, StepKind::kAttention, "attention", attention_flops(problem_, false),
         {packed("qkv")}, {wide("o"), lse()});
    product(Stage::kProj, "A = O Wo", hidden_, hidden_,
            {wide("o"), half("Wo", hidden_ * hidden_, true)}, {wide("a")});
    bias(Stage::kProj, {wide("a")});
  }

  /// Whether the backward pass asks for u: where the derivative of ReLU is of g as well, an
  /// epilogue need not store it.
  bool keeps_argument() const {
    return !has_activation_in_epilogue(shape_) || shape_.activation != Activation::kRelu;
  }

  void feed_forward_block(std::string_view input) {
    const LayerTensor weight = half("W1", hidden_ * ffn_, true);
    if (has_activation_in_epilogue(shape_)) {
      Tensors writes = {broad("g")};
      if (keeps_argument()) writes.push_back(broad("u"));
      product(Stage::kFf1, "G = act(H W1 + b1)", hidden_, ffn_, {wide(input), weight},
              std::move(writes));
    } else {
      product(Stage::kFf1, "U = H W1", hidden_, ffn_, {wide(input), weight}, {broad("u")});
      bias(Stage::kFf1, {broad("u")});
      rows(Stage::kFf1, "activation", {broad("u")}, {broad("g")});
    }
    product(Stage::kFf2, "F = G W2", ffn_, hidden_, {broad("g"), half("W2", ffn_ * hidden_, true)},
            {wide("f")});
    bias(Stage::kFf2, {wide("f")});
  }

  /// sum = residual + dropout(x + bias), and its norm. The sum is kept where something reads it
  /// later.
  void add_and_norm(Stage stage, std::string_view x, std::string_view residual,
                    std::string_view sum, std::string_view norm) {
    if (is_fused_) {
      rows(stage, "bias, dropout, residual, LayerNorm",
           {wide(x), wide(residual), vectors("norm", 3)}, {wide(sum), wide(norm)});
      return;
    }
    add(stage, x, residual, sum);
    rows(stage, "LayerNorm", {wide(sum), vectors("norm", 2)}, {wide(norm)});
  }
  void add(Stage stage, std::string_view x, std::string_view residual, std::string_view sum) {
    if (is_fused_) {
      rows(stage, "bias, dropout, residual", {wide(x), wide(residual), vectors("bias", 1)},
           {wide(sum)});
      return;
    }
    if (drops_) rows(stage, "dropout", {wide(x)}, {wide(x)});
    rows(stage, "residual", {wide(x), wide(residual)}, {wide(sum)});
  }

  /// The gradient of norm(z), plus `beside`, the gradient that comes by the residual, if there is
  /// one. Writes `dz`, and after dropout `d_branch`.
  void norm_backward(Stage stage, std::string_view dy, std::string_view z, std::string_view dz,
                     std::string_view d_branch, std::string_view beside) {
    Tensors reads = {wide(dy), wide(z), vectors("norm", 2)}, writes = {wide(dz)};
    if (is_fused_) {
      if (!beside.empty()) reads.push_back(wide(beside));
      if (!d_branch.empty() && drops_) writes.push_back(wide(d_branch));
      if (!d_branch.empty() && !drops_) same_as_[d_branch] = dz;
      rows(stage, "LayerNorm, residual, dropout", reads, writes);
      const bool sums_branch = !d_branch.empty() && shape_.bias;
      rows(stage, sums_branch ? "dgamma, dbeta, dbias" : "dgamma, dbeta", {},
           {gradient("dnorm", stage, (sums_branch ? 3 : 2) * hidden_)});
      return;
    }
    rows(stage, "LayerNorm", reads, writes);
    rows(stage, "dgamma, dbeta", {wide(dy), wide(z)}, {gradient("dnorm", stage, 2 * hidden_)});
    if (!beside.empty()) rows(stage, "residual", {wide(dz), wide(beside)}, {wide(dz)});
    if (!d_branch.empty()) drop_backward(stage, dz, d_branch);
  }
  void drop_backward(Stage stage, std::string_view dz, std::string_view d_branch) {
    if (drops_) {
      rows(stage, "dropout", {wide(dz)}, {wide(d_branch)});
    } else {
      same_as_[d_branch] = dz;
    }
  }
  void bias_gradient(Stage stage, const LayerTensor& of, std::uint64_t elements) {
    if (shape_.bias) rows(stage, "dbias", {of}, {gradient("dbias", stage, elements)});
  }
  /// A gradient of vectors, named for the stage.
  LayerTensor gradient(const std::string& name, Stage stage, std::uint64_t elements) const {
    return half(name + std::string(name_of(stage)), elements);
  }

  void feed_forward_backward(std::string_view input, std::string_view d_input,
                             std::string_view residual) {
    const LayerTensor w2 = half("W2", ffn_ * hidden_, true), w1 = half("W1", hidden_ * ffn_, true);
    product(Stage::kFf2, "dW2 = G^T dF", ffn_, hidden_, {broad("g"), wide("df")},
            {half("dW2", ffn_ * hidden_)});
    if (!is_fused_ || shape_.norm == NormPlace::kPre) {
      bias_gradient(Stage::kFf2, wide("df"), hidden_);
    }
    if (is_fused_) {
      const Tensors reads = {broad("du"), broad(keeps_argument() ? "u" : "g")};
      product(Stage::kFf2, "dG = dF W2^T", hidden_, ffn_, {wide("df"), w2}, {broad("du")});
      rows(Stage::kFf1, "activation", reads, {broad("du")});
      if (shape_.bias) rows(Stage::kFf1, "dbias", {}, {gradient("dbias", Stage::kFf1, ffn_)});
    } else {
      product(Stage::kFf2, "dG = dF W2^T", hidden_, ffn_, {wide("df"), w2}, {broad("dg")});
      rows(Stage::kFf1, "activation", {broad("dg"), broad("u")}, {broad("du")});
    }
    product(Stage::kFf1, "dW1 = H^T dU", hidden_, ffn_, {wide(input), broad("du")},
            {half("dW1", hidden_ * ffn_)});
    if (!is_fused_) bias_gradient(Stage::kFf1, broad("du"), ffn_);
    into_residual(Stage::kFf1, "dH = dU W1^T", ffn_, {broad("du"), w1}, d_input, residual);
  }

  void attention_backward(std::string_view input, std::string_view d_input,
                          std::string_view residual) {
    product(Stage::kProj, "dWo = O^T dA", hidden_, hidden_, {wide("o"), wide("da")},
            {half("dWo", hidden_ * hidden_)});
    if (!is_fused_) bias_gradient(Stage::kProj, wide("da"), hidden_);
    product(Stage::kProj, "dO = dA Wo^T", hidden_, hidden_,
            {wide("da"), half("Wo", hidden_ * hidden_, true)}, {wide("do")});
    step(Stage::kMha, StepKind::kAttention, "attention", attention_flops(problem_, true),
         {packed("qkv"), wide("o"), wide("do"), lse()}, {packed("dqkv")});
    product(Stage::kQkv, "dWqkv = x^T dQKV", hidden_, 3 * hidden_, {wide(input), packed("dqkv")},
            {half("dWqkv", 3 * hidden_ * hidden_)});
    bias_gradient(Stage::kQkv, packed("dqkv"), 3 * hidden_);
    into_residual(Stage::kQkv, "dx = dQKV Wqkv^T", 3 * hidden_,
                  {packed("dqkv"), half("Wqkv", 3 * hidden_ * hidden_, true)}, d_input, residual);
  }
  void into_residual(Stage stage, std::string_view name, std::uint64_t inner, Tensors reads,
                     std::string_view d_input, std::string_view residual) {
    if (is_fused_ && !residual.empty()) reads.push_back(wide(residual));
    product(stage, name, inner, hidden_, std::move(reads), {wide(d_input)});
    if (!is_fused_ && !residual.empty()) {
      rows(stage, "residual", {wide(d_input), wide(residual)}, {wide(d_input)});
    }
  }

  const LayerShape& shape_;
  const Problem& problem_;
  std::uint64_t tokens_, hidden_, ffn_;
  bool is_fused_, drops_;
  bool is_backward_ = false;
  std::map<std::string_view, std::string_view> same_as_;  // without dropout: a gradient that is
                                                          // none of its own
  std::vector<LayerStep> steps_;
};

std::uint64_t sum_of(const Tensors& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const LayerTensor& each) {
                           return saturating_sum({sum, each.bytes});
                         });
}

/// A forward pass without a backward pass need not write the argument of an activation that an
/// epilogue applies, nor the sum before a LayerNorm whose output is all that is read.
void drop_unread(std::vector<LayerStep>& steps, std::string_view output) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::erase_if(steps[i].writes, [&](const LayerTensor& written) {
      if (written.name == output || written.name == "lse") return false;
      for (std::size_t j = i; j < steps.size(); ++j) {
        for (const LayerTensor& read : steps[j].reads) {
          if (read.name == written.name) return false;
        }
      }
      return true;
    });
  }
}

}  // namespace

std::string_view name_of(Stage stage) { return kStageNames.at(static_cast<std::size_t>(stage)); }

std::array<Stage, kStages.size()> stages_in_order(NormPlace norm) {
  if (norm == NormPlace::kPost) return kStages;
  return {Stage::kLn1, Stage::kQkv, Stage::kMha, Stage::kProj,
          Stage::kLn2, Stage::kFf1, Stage::kFf2};
}

std::uint64_t LayerStep::bytes() const { return saturating_sum({sum_of(reads), sum_of(writes)}); }

std::uint64_t attention_flops(const Problem& problem, bool is_backward) {
  return saturating_product({is_backward ? 5u : 2u, twice_credited_pairs_of_heads(problem),
                             static_cast<std::uint64_t>(problem.head_dim)});
}

std::vector<LayerStep> layer_steps(const LayerShape& shape, const Problem& problem, Pass pass) {
  if (const std::string_view why = why_no_layer(shape, problem); !why.empty()) {
    throw std::invalid_argument("not a layer's attention: " + std::string(why));
  }
  if (shape.rest == Rest::kEager) {
    LayerShape unfused = shape;
    unfused.rest = Rest::kUnfused;
    return eager_steps(layer_steps(unfused, problem, pass));
  }
  Steps steps(shape, problem);
  steps.forward();
  if (pass != Pass::kForward) steps.backward();
  std::vector<LayerStep> all = steps.take();
  if (pass == Pass::kForward) drop_unread(all, "y");
  if (pass == Pass::kBackward) {
    std::erase_if(all, [](const LayerStep& step) { return !step.is_backward; });
  }
  return all;
}

std::uint64_t weight_bytes(const LayerShape& shape) {
  const auto hidden = static_cast<std::uint64_t>(shape.hidden);
  const auto ffn = static_cast<std::uint64_t>(shape.ffn);
  const std::uint64_t matrices = 4 * hidden * hidden + 2 * hidden * ffn;
  const std::uint64_t biases = shape.bias ? 5 * hidden + ffn : 0;
  return (matrices + biases + 4 * hidden) * sizeof(Half);
}

}  // namespace sparkbench
