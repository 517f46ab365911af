// One encoder layer: attention with its projections, and a feed-forward network, each with dropout,
// a residual and a LayerNorm (Vaswani et al., 2017, section 3.1; pre-LN: Xiong et al., 2020).
//   post-LN  h = LN1(x + dropout(proj(MHA(qkv(x)))))
//            y = LN2(h + dropout(ff2(act(ff1(h)))))
//   pre-LN   h = x + dropout(proj(MHA(qkv(LN1(x)))))
//            y = h + dropout(ff2(act(ff1(LN2(h)))))
// Tokens, heads, head_dim, mask and dropout are the attention's (kernels/problem/attention.h). It
// has hidden / head_dim heads, and its softmax drops with the same probability. Varlen sequences
// are packed: everything but the attention works on all tokens, without regard to sequences.
#pragma once

#include <string_view>

#include "kernels/problem/attention.h"

namespace sparkbench {

enum class Activation { kGeluTanh, kGeluErf, kRelu };
enum class NormPlace { kPost, kPre };

/// How everything but the attention is computed. kUnfused: one launch an operation, as in a
/// framework. kFused: biases and the activation in the epilogues of the products; and bias,
/// dropout, residual and LayerNorm in one kernel. kEager: as eager PyTorch launches it
/// (eager_steps.h); such a layer is only described, and nothing here computes it.
enum class Rest { kUnfused, kFused, kEager };

struct LayerShape {
  int hidden = 2048;
  int ffn = 8192;
  Activation activation = Activation::kGeluTanh;
  NormPlace norm = NormPlace::kPost;
  bool bias = true;  // of all four products
  Rest rest = Rest::kFused;
};

/// Whether the products' epilogues apply the activation: cublasLt has ReLU and the tanh form of
/// GELU, no erf.
bool has_activation_in_epilogue(const LayerShape& shape);

/// LayerNorm's, of BERT (Devlin et al.): added to the variance.
inline constexpr double kLayerNormEpsilon = 1e-12;

/// "gelu-tanh", "gelu-erf", "relu"
std::string_view name_of(Activation activation);
/// "post", "pre"
std::string_view name_of(NormPlace norm);
/// "unfused", "fused", "eager"
std::string_view name_of(Rest rest);

/// Each throws std::invalid_argument for an unknown name.
void parse_name(std::string_view name, Activation& activation);
void parse_name(std::string_view name, NormPlace& norm);
void parse_name(std::string_view name, Rest& rest);

/// "" if `problem` can be the layer's attention, otherwise why not. It must be self-attention: as
/// many keys as rows in each sequence, as many key heads as heads, and hidden / head_dim heads.
std::string_view why_no_layer(const LayerShape& shape, const Problem& problem);

}  // namespace sparkbench
