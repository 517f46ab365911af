#include "reference/encoder/layer_data.h"

#include <cmath>

#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

constexpr float kSmall = 0.1f;

bool is_matrix_of_weights(const NamedTensor& tensor) {
  return tensor.weight != nullptr && tensor.shape.size() == 2;
}

bool is_gamma(const NamedTensor& tensor) { return tensor.name.starts_with("gamma"); }

float scale_of(const NamedTensor& tensor) {
  if (is_matrix_of_weights(tensor)) {
    return 1.0f / std::sqrt(static_cast<float>(tensor.shape.back()));
  }
  return tensor.weight != nullptr ? kSmall : 1.0f;
}

}  // namespace

std::vector<NamedTensor> named_tensors(const LayerShape& shape, int tokens) {
  const auto hidden = static_cast<std::uint64_t>(shape.hidden);
  const auto ffn = static_cast<std::uint64_t>(shape.ffn), rows = static_cast<std::uint64_t>(tokens);
  const auto weight = [](std::string_view name, std::string_view gradient,
                         std::vector<Half> LayerWeights::*member,
                         std::vector<std::uint64_t> extents) {
    return NamedTensor{name, gradient, member, nullptr, std::move(extents), name.starts_with("b_")};
  };
  return {weight("w_qkv", "dWqkv", &LayerWeights::w_qkv, {3 * hidden, hidden}),
          weight("w_o", "dWo", &LayerWeights::w_o, {hidden, hidden}),
          weight("w_1", "dW1", &LayerWeights::w_1, {ffn, hidden}),
          weight("w_2", "dW2", &LayerWeights::w_2, {hidden, ffn}),
          weight("b_qkv", "dbqkv", &LayerWeights::b_qkv, {3 * hidden}),
          weight("b_o", "dbo", &LayerWeights::b_o, {hidden}),
          weight("b_1", "db1", &LayerWeights::b_1, {ffn}),
          weight("b_2", "db2", &LayerWeights::b_2, {hidden}),
          weight("gamma_1", "dgamma1", &LayerWeights::gamma_1, {hidden}),
          weight("beta_1", "dbeta1", &LayerWeights::beta_1, {hidden}),
          weight("gamma_2", "dgamma2", &LayerWeights::gamma_2, {hidden}),
          weight("beta_2", "dbeta2", &LayerWeights::beta_2, {hidden}),
          {"x", "dx", nullptr, &LayerTensors::x, {rows, hidden}},
          {"d_y", "", nullptr, &LayerTensors::d_y, {rows, hidden}}};
}

LayerTensors make_layer_tensors(const LayerShape& shape, int tokens, std::uint64_t seed) {
  LayerTensors made;
  std::uint64_t stream = 0;
  for (const NamedTensor& tensor : named_tensors(shape, tokens)) {
    std::vector<Half>& values = tensor.of(made);
    const int columns = static_cast<int>(tensor.shape.back());
    const int rows = static_cast<int>(tensor.elements()) / columns;
    // Each tensor has its own stream; otherwise two tensors of one seed would differ only in scale.
    const InputStream source{Distribution::kNormal, seed ^ (++stream << 48), InputTensor::kQ,
                             scale_of(tensor)};
    values = make_input(source, {1, rows, 1, columns});
    if (is_gamma(tensor)) {
      for (Half& value : values) value = to_half(1.0f + to_float(value));
    }
    if (tensor.is_of_bias && !shape.bias) values.assign(values.size(), Half{0});
  }
  return made;
}

}  // namespace sparkbench
