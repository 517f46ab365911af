// A layer's weights, its input and the gradient of its output: drawn at random, or the user's.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/base/half.h"
#include "reference/encoder/layer_shape.h"

namespace sparkbench {

/// Matrices are [out, in], as in nn.Linear. Those of Q, K and V are stacked.
struct LayerWeights {
  std::vector<Half> w_qkv, w_o, w_1, w_2;  // [3 hidden, hidden], [hidden, hidden], [ffn, hidden],
                                           // [hidden, ffn]
  std::vector<Half> b_qkv, b_o, b_1, b_2;  // zeros if the layer has no biases
  std::vector<Half> gamma_1, beta_1, gamma_2, beta_2;
};

struct LayerTensors {
  LayerWeights weights;
  std::vector<Half> x, d_y;  // [tokens, hidden]
};

/// A tensor of a layer, by its name in a file.
struct NamedTensor {
  std::string_view name;      // "w_qkv", "b_1", "x", ...
  std::string_view gradient;  // the name of its gradient: "dWqkv", "db1", "dx"; empty for d_y
  std::vector<Half> LayerWeights::*weight = nullptr;
  std::vector<Half> LayerTensors::*tensor = nullptr;
  std::vector<std::uint64_t> shape;
  bool is_of_bias = false;

  std::vector<Half>& of(LayerTensors& tensors) const {
    return weight != nullptr ? tensors.weights.*weight : tensors.*tensor;
  }
  const std::vector<Half>& of(const LayerTensors& tensors) const {
    return weight != nullptr ? tensors.weights.*weight : tensors.*tensor;
  }
  std::uint64_t elements() const {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : shape) elements *= extent;
    return elements;
  }
};

/// All tensors for this many tokens; x and d_y come last.
std::vector<NamedTensor> named_tensors(const LayerShape& shape, int tokens);

/// Normal random numbers: x and d_y with standard deviation 1, matrices with 1 / sqrt(in), biases
/// and beta with 0.1, gamma 1 + 0.1 times one. Each element is a function of the seed, the tensor
/// and the index.
LayerTensors make_layer_tensors(const LayerShape& shape, int tokens, std::uint64_t seed);

}  // namespace sparkbench
