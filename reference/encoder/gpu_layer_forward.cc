#include "reference/encoder/gpu_layer_forward.h"

namespace sparkbench {
namespace {

std::pair<Product, Epilogue> find_ff1(const LayerParts& parts) {
  const ProductShape shape{parts.wide.rows, parts.shape.ffn, parts.shape.hidden, false, true};
  const Epilogue plain = parts.is_fused && parts.shape.bias ? Epilogue::kBias : Epilogue::kNone;
  if (!has_activation_in_epilogue(parts.shape)) return parts.products.first_of(shape, {plain});
  const Epilogue activated = parts.shape.activation == Activation::kRelu ? Epilogue::kRelu
                             : parts.has_backward                        ? Epilogue::kGeluKeeping
                                                                         : Epilogue::kGelu;
  return parts.products.first_of(shape, {activated, plain});
}

}  // namespace

LayerForwardPass::LayerForwardPass(const LayerParts& parts)
    : parts_(parts),
      qkv_(parts.products.required(
          {parts.wide.rows, 3 * parts.shape.hidden, parts.shape.hidden, false, true, false,
           parts.is_fused && parts.shape.bias ? Epilogue::kBias : Epilogue::kNone})),
      proj_(parts.products.required(
          {parts.wide.rows, parts.shape.hidden, parts.shape.hidden, false, true})),
      ff1_(find_ff1(parts)),
      ff2_(parts.products.required(
          {parts.wide.rows, parts.shape.hidden, parts.shape.ffn, false, true})) {}

void LayerForwardPass::add_bias(Half* x, const Half* bias, RowExtents extents) const {
  if (parts_.is_fused || !parts_.shape.bias) return;
  add_rows({x, bias, nullptr, x, {}, DropoutSite::kFirst}, extents, parts_.stream);
}

void LayerForwardPass::add(DropoutSite site, Half* x, const Half* bias, const Half* residual,
                           Half* sum) const {
  const LayerParts& parts = parts_;
  if (parts.is_fused) {
    return add_rows({x, parts.bias_or_null(bias), residual, sum, parts.dropout, site}, parts.wide,
                    parts.stream);
  }
  if (parts.drops()) {
    add_rows({x, nullptr, nullptr, x, parts.dropout, site}, parts.wide, parts.stream);
  }
  add_rows({x, nullptr, residual, sum, {}, site}, parts.wide, parts.stream);
}

void LayerForwardPass::normalize(const Half* z, int which, Half* norm) const {
  add_norm({{z, nullptr, nullptr, nullptr, {}, DropoutSite::kFirst},
            parts_.gamma(which),
            parts_.beta(which),
            norm},
           parts_.wide, parts_.stream);
}

void LayerForwardPass::add_and_norm(DropoutSite site, Half* x, const Half* bias,
                                    const Half* residual, Half* sum, int which, Half* norm) const {
  if (!parts_.is_fused) {
    add(site, x, bias, residual, sum);
    return normalize(sum, which, norm);
  }
  add_norm({{x, parts_.bias_or_null(bias), residual, sum, parts_.dropout, site},
            parts_.gamma(which),
            parts_.beta(which),
            norm},
           parts_.wide, parts_.stream);
}

void LayerForwardPass::project_in(const Half* input) const {
  const LayerParts& parts = parts_;
  qkv_.enqueue({input, parts.weights.w_qkv, nullptr, parts.at("qkv"), parts.weights.b_qkv},
               parts.stream);
  add_bias(parts.at("qkv"), parts.weights.b_qkv, parts.packed);
}

void LayerForwardPass::project_out() const {
  const LayerParts& parts = parts_;
  proj_.enqueue({parts.at("o"), parts.weights.w_o, nullptr, parts.at("a")}, parts.stream);
  add_bias(parts.at("a"), parts.weights.b_o, parts.wide);
}

void LayerForwardPass::expand(const Half* input) const {
  const LayerParts& parts = parts_;
  const auto& [product, epilogue] = ff1_;
  Half* const g = parts.at("g");
  // Where an epilogue was to apply the activation and none does, u has no place but g's.
  Half* const u = parts.at("u") != nullptr ? parts.at("u") : g;
  product.enqueue(
      {input, parts.weights.w_1, nullptr, has_activation(epilogue) ? g : u, parts.weights.b_1, u},
      parts.stream);
  if (has_activation(epilogue)) return;
  add_bias(u, parts.weights.b_1, parts.broad);
  activate(parts.shape.activation, u, g, parts.broad, parts.stream);
}

void LayerForwardPass::contract() const {
  const LayerParts& parts = parts_;
  ff2_.enqueue({parts.at("g"), parts.weights.w_2, nullptr, parts.at("f")}, parts.stream);
  add_bias(parts.at("f"), parts.weights.b_2, parts.wide);
}

void LayerForwardPass::run_stage(Stage stage) const {
  const LayerParts& parts = parts_;
  const Half *const b_o = parts.weights.b_o, *const b_2 = parts.weights.b_2;
  const bool is_post = parts.is_post;
  Half *const x = parts.at("x"), *const h = parts.at("h");
  switch (stage) {
    case Stage::kQkv:
      return project_in(is_post ? x : parts.at("n1"));
    case Stage::kMha:
      return parts.attention_forward();
    case Stage::kProj:
      return project_out();
    case Stage::kLn1:
      if (!is_post) return normalize(x, 0, parts.at("n1"));
      return add_and_norm(DropoutSite::kFirst, parts.at("a"), b_o, x, parts.at("z1"), 0, h);
    case Stage::kFf1:
      return expand(is_post ? h : parts.at("n2"));
    case Stage::kFf2:
      return contract();
    case Stage::kLn2:
      if (!is_post) {
        return add_and_norm(DropoutSite::kFirst, parts.at("a"), b_o, x, h, 1, parts.at("n2"));
      }
      return add_and_norm(DropoutSite::kSecond, parts.at("f"), b_2, h, parts.at("z2"), 1,
                          parts.at("y"));
  }
}

void LayerForwardPass::run(const AfterStage& after) const {
  const LayerParts& parts = parts_;
  for (const Stage stage : stages_in_order(parts.shape.norm)) {
    run_stage(stage);
    if (stage == Stage::kFf2 && !parts.is_post) {
      add(DropoutSite::kSecond, parts.at("f"), parts.weights.b_2, parts.at("h"), parts.at("y"));
    }
    after(stage);
  }
}

}  // namespace sparkbench
