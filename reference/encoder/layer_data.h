// A layer's weights, its input and the gradient of its output: drawn, or the user's.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/encoder/layer_shape.h"
#include "kernels/half.h"

namespace sparkbench {

/// Matrices are [out, in], as nn.Linear has them. Those of Q, K and V lie below each other.
struct LayerWeights {
  std::vector<Half> w_qkv, w_o, w_1, w_2;  // [3 hidden, hidden], [hidden, hidden], [ffn, hidden],
                                           // [hidden, ffn]
  std::vector<Half> b_qkv, b_o, b_1, b_2;  // zeros where a layer has no bias
  std::vector<Half> gamma_1, beta_1, gamma_2, beta_2;
};

struct LayerTensors {
  LayerWeights weights;
  std::vector<Half> x, d_y;  // [tokens, hidden]
};

/// A tensor of a layer by the name that a file has it by.
struct NamedTensor {
  std::string_view name;  // "w_qkv", "b_1", "x", ...
  std::vector<Half> LayerWeights::*weight = nullptr;
  std::vector<Half> LayerTensors::*tensor = nullptr;
  std::vector<std::uint64_t> shape;
  bool is_of_bias = false;

  std::vector<Half>& of(LayerTensors& tensors) const {
    return weight != nullptr ? tensors.weights.*weight : tensors.*tensor;
  }
};

/// All of them, x and d_y last, of so many tokens.
std::vector<NamedTensor> named_tensors(const LayerShape& shape, int tokens);

/// Normal ones: x and d_y of standard deviation 1, a matrix of 1 / sqrt(in), biases and beta of
/// 0.1, gamma 1 + 0.1 times. Every element is a function of the seed, its tensor and its place.
LayerTensors make_layer_tensors(const LayerShape& shape, int tokens, std::uint64_t seed);

}  // namespace sparkbench
