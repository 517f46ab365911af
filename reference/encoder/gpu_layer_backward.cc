#include "reference/encoder/gpu_layer_backward.h"

namespace sparkbench {
namespace {

/// dW [out, in] = dY^T X
ProductShape weight_gradient(const LayerParts& parts, int out, int in) {
  return {out, in, parts.wide.rows, true, false};
}
/// dX [tokens, in] = dY W
ProductShape input_gradient(const LayerParts& parts, int out, int in) {
  return {parts.wide.rows, in, out, false, false};
}

}  // namespace

LayerBackwardPass::LayerBackwardPass(const LayerParts& parts)
    : parts_(parts),
      is_fused_(parts.is_fused),
      d_w2_(parts.products.required(weight_gradient(parts, parts.shape.hidden, parts.shape.ffn))),
      d_g_(parts.products.required(input_gradient(parts, parts.shape.hidden, parts.shape.ffn))),
      d_w1_(parts.products.required(weight_gradient(parts, parts.shape.ffn, parts.shape.hidden))),
      d_h_(find_with_residual(input_gradient(parts, parts.shape.ffn, parts.shape.hidden),
                              parts.is_post)),
      d_wo_(
          parts.products.required(weight_gradient(parts, parts.shape.hidden, parts.shape.hidden))),
      d_o_(parts.products.required(input_gradient(parts, parts.shape.hidden, parts.shape.hidden))),
      d_wqkv_(parts.products.required(
          weight_gradient(parts, 3 * parts.shape.hidden, parts.shape.hidden))),
      d_x_(find_with_residual(input_gradient(parts, 3 * parts.shape.hidden, parts.shape.hidden),
                              parts.is_post)) {}

LayerBackwardPass::WithResidual LayerBackwardPass::find_with_residual(ProductShape shape,
                                                                      bool has_residual) const {
  shape.adds_c = is_fused_ && has_residual;
  return {parts_.products.required(shape), shape.adds_c};
}

void LayerBackwardPass::multiply_and_add(const WithResidual& by, const Half* a, const Half* b,
                                         const Half* residual, Half* d) const {
  by.product.enqueue({a, b, by.adds ? residual : nullptr, d}, parts_.stream);
  if (by.adds || residual == nullptr) return;
  add_rows({d, nullptr, residual, d, {}, DropoutSite::kFirst}, parts_.wide, parts_.stream);
}

ColumnSums LayerBackwardPass::sums_to(std::string_view gradient) const {
  return {parts_.at(gradient), parts_.scratch.as<float>()};
}

void LayerBackwardPass::sum_columns(std::string_view gradient, const Half* x,
                                    RowExtents extents) const {
  if (parts_.shape.bias) column_sums(x, sums_to(gradient), extents, parts_.stream);
}

void LayerBackwardPass::drop_branch(DropoutSite site, Half* d_z, std::string_view branch) const {
  if (!parts_.drops()) return;
  add_rows({d_z, nullptr, nullptr, parts_.at(branch), parts_.dropout, site}, parts_.wide,
           parts_.stream);
}

void LayerBackwardPass::normalize_backward(Stage stage, int which, const Half* d_norm,
                                           const Half* z, const Half* beside, Half* d_z,
                                           std::string_view branch, DropoutSite site) const {
  NormBackward tensors;
  tensors.d_norm = d_norm;
  tensors.z = z;
  tensors.gamma = parts_.gamma(which);
  tensors.d_z = d_z;
  tensors.scratch = parts_.scratch.as<float>();
  Half* const sums = parts_.at("dnorm" + std::string(name_of(stage)));
  if (is_fused_) {
    tensors.beside = beside;
    tensors.d_gamma = sums;
    tensors.sums_branch = !branch.empty() && parts_.shape.bias;
    if (!branch.empty() && parts_.drops()) {
      tensors.d_branch = parts_.at(branch);
      tensors.dropout = parts_.dropout;
      tensors.site = site;
    }
    return norm_backward(tensors, parts_.wide, parts_.stream);
  }
  norm_backward(tensors, parts_.wide, parts_.stream);
  tensors.d_z = nullptr;
  tensors.d_gamma = sums;
  norm_backward(tensors, parts_.wide, parts_.stream);
  if (beside != nullptr) {
    add_rows({d_z, nullptr, beside, d_z, {}, site}, parts_.wide, parts_.stream);
  }
  if (!branch.empty()) drop_branch(site, d_z, branch);
}

void LayerBackwardPass::feed_forward_backward(const Half* input, Half* d_f, const Half* residual,
                                              Half* d_input, const AfterStage& after) const {
  const LayerParts& parts = parts_;
  Half* const d_u = parts.at("du");
  d_w2_.enqueue({d_f, parts.at("g"), nullptr, parts.at("dW2")}, parts.stream);
  if (!is_fused_ || !parts.is_post) sum_columns("dbiasff2", d_f, parts.wide);
  // Fused, the gradient of u takes the place of that of g.
  Half* const d_g = is_fused_ ? d_u : parts.at("dg");
  d_g_.enqueue({d_f, parts.weights.w_2, nullptr, d_g}, parts.stream);
  after(Stage::kFf2);
  const Half* const u = parts.at("u") != nullptr ? parts.at("u") : parts.at("g");
  const ColumnSums sums = sums_to("dbiasff1");
  const bool sums_beside = is_fused_ && parts.shape.bias;
  activate_backward(parts.shape.activation, d_g, u, d_u, sums_beside ? &sums : nullptr, parts.broad,
                    parts.stream);
  d_w1_.enqueue({d_u, input, nullptr, parts.at("dW1")}, parts.stream);
  if (!sums_beside) sum_columns("dbiasff1", d_u, parts.broad);
  multiply_and_add(d_h_, d_u, parts.weights.w_1, residual, d_input);
  after(Stage::kFf1);
}

void LayerBackwardPass::attention_backward(const Half* input, Half* d_a, const Half* residual,
                                           Half* d_input, const AfterStage& after) const {
  const LayerParts& parts = parts_;
  d_wo_.enqueue({d_a, parts.at("o"), nullptr, parts.at("dWo")}, parts.stream);
  if (!is_fused_) sum_columns("dbiasproj", d_a, parts.wide);
  d_o_.enqueue({d_a, parts.weights.w_o, nullptr, parts.at("do")}, parts.stream);
  after(Stage::kProj);
  parts.attention_backward();
  after(Stage::kMha);
  Half* const d_qkv = parts.at("dqkv");
  d_wqkv_.enqueue({d_qkv, input, nullptr, parts.at("dWqkv")}, parts.stream);
  sum_columns("dbiasqkv", d_qkv, parts.packed);
  multiply_and_add(d_x_, d_qkv, parts.weights.w_qkv, residual, d_input);
  after(Stage::kQkv);
}

void LayerBackwardPass::run(const AfterStage& after) const {
  const LayerParts& parts = parts_;
  Half *const d_y = parts.at("dy"), *const d_h = parts.at("dh"), *const d_x = parts.at("dx");
  if (parts.is_post) {
    Half *const d_z1 = parts.at("dz1"), *const d_z2 = parts.at("dz2");
    normalize_backward(Stage::kLn2, 1, d_y, parts.at("z2"), nullptr, d_z2, "df",
                       DropoutSite::kSecond);
    after(Stage::kLn2);
    feed_forward_backward(parts.at("h"), parts.branch_of("df", "dz2"), d_z2, d_h, after);
    normalize_backward(Stage::kLn1, 0, d_h, parts.at("z1"), nullptr, d_z1, "da",
                       DropoutSite::kFirst);
    after(Stage::kLn1);
    attention_backward(parts.at("x"), parts.branch_of("da", "dz1"), d_z1, d_x, after);
  } else {
    drop_branch(DropoutSite::kSecond, d_y, "df");
    feed_forward_backward(parts.at("n2"), parts.branch_of("df", "dy"), nullptr, parts.at("dn2"),
                          after);
    normalize_backward(Stage::kLn2, 1, parts.at("dn2"), parts.at("h"), d_y, d_h, "da",
                       DropoutSite::kFirst);
    after(Stage::kLn2);
    attention_backward(parts.at("n1"), parts.branch_of("da", "dh"), nullptr, parts.at("dn1"),
                       after);
    normalize_backward(Stage::kLn1, 0, parts.at("dn1"), parts.at("x"), d_h, d_x, "",
                       DropoutSite::kFirst);
    after(Stage::kLn1);
  }
}

std::vector<LayerGradient> LayerBackwardPass::gradients() const {
  const LayerParts& parts = parts_;
  const auto hidden = static_cast<std::size_t>(parts.shape.hidden);
  const auto ffn = static_cast<std::size_t>(parts.shape.ffn);
  const auto tokens = static_cast<std::size_t>(parts.wide.rows);
  std::vector<LayerGradient> all = {{"dx", parts.at("dx"), tokens * hidden},
                                    {"dWqkv", parts.at("dWqkv"), 3 * hidden * hidden},
                                    {"dWo", parts.at("dWo"), hidden * hidden},
                                    {"dW1", parts.at("dW1"), ffn * hidden},
                                    {"dW2", parts.at("dW2"), hidden * ffn}};
  const Half *const of_ln1 = parts.at("dnormln1"), *const of_ln2 = parts.at("dnormln2");
  all.push_back({"dgamma1", of_ln1, hidden});
  all.push_back({"dbeta1", of_ln1 + hidden, hidden});
  all.push_back({"dgamma2", of_ln2, hidden});
  all.push_back({"dbeta2", of_ln2 + hidden, hidden});
  if (!parts.shape.bias) return all;
  all.push_back({"dbqkv", parts.at("dbiasqkv"), 3 * hidden});
  all.push_back({"db1", parts.at("dbiasff1"), ffn});
  const Half* const d_bo = (parts.is_post ? of_ln1 : of_ln2) + 2 * hidden;
  all.push_back({"dbo", is_fused_ ? d_bo : parts.at("dbiasproj"), hidden});
  const bool is_beside = is_fused_ && parts.is_post;
  all.push_back({"db2", is_beside ? of_ln2 + 2 * hidden : parts.at("dbiasff2"), hidden});
  return all;
}

}  // namespace sparkbench
