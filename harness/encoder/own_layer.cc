#include "harness/encoder/own_layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "harness/run/problems/input_warnings.h"
#include "harness/run/problems/tensor_file.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Extents = std::vector<std::uint64_t>;

template <class... Values>
[[noreturn]] void reject_layer(fmt::format_string<Values...> format, Values&&... values) {
  throw std::invalid_argument(fmt::format(format, std::forward<Values>(values)...));
}

std::string text_of_extents(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// From w_1, which is [ffn, hidden].
LayerShape shape_of_file(const TensorFile& file) {
  const Extents extents = file.extents_of("w_1");
  if (extents.size() != 2) {
    reject_layer("tensor 'w_1' is {}; needs [ffn, hidden]", text_of_extents(extents));
  }
  LayerShape shape;
  shape.ffn = static_cast<int>(extents[0]);
  shape.hidden = static_cast<int>(extents[1]);
  shape.bias = file.has("b_qkv") || file.has("b_o") || file.has("b_1") || file.has("b_2");
  return shape;
}

/// {batch, seqlen}
std::pair<int, int> tokens_of_file(const TensorFile& file, const LayerShape& shape) {
  const Extents x = file.extents_of("x");
  if (x.size() < 2 || x.size() > 3 || x.back() != static_cast<std::uint64_t>(shape.hidden)) {
    reject_layer("tensor 'x' is {}; needs [seqlen, {}] or [batch, seqlen, {}]", text_of_extents(x),
                 shape.hidden, shape.hidden);
  }
  return {x.size() == 3 ? static_cast<int>(x[0]) : 1, static_cast<int>(x[x.size() - 2])};
}

void require_extents(const TensorFile& file, const NamedTensor& tensor, const Extents& needed) {
  const Extents extents = file.extents_of(std::string(tensor.name));
  if (extents == needed) return;
  reject_layer("tensor '{}' is {}; needs {}, as 'w_1' and 'x' are", tensor.name,
               text_of_extents(extents), text_of_extents(needed));
}

std::uint64_t count_of(const Extents& extents) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= extent;
  return count;
}

void read_tensors(TensorFile& file, OwnLayer& layer) {
  std::vector<SmallValues> small;
  for (const NamedTensor& tensor : named_tensors(layer.shape, layer.seqlen)) {
    const std::string name(tensor.name);
    std::vector<Half>& values = tensor.of(layer.tensors);
    if (name == "d_y" && !file.has(name)) continue;
    if (tensor.is_of_bias && !layer.shape.bias) {
      values.assign(count_of(tensor.shape), Half{0});
      continue;
    }
    const bool is_of_tokens = tensor.tensor != nullptr;
    require_extents(file, tensor, is_of_tokens ? file.extents_of("x") : tensor.shape);
    values = file.read(name);
    small.push_back(count_small_values(name, values, file.vanished(name)));
    if (is_of_tokens) values.resize(count_of(tensor.shape));  // the first sequence
  }
  layer.warnings = warn_of_small_values(small);
}

}  // namespace

AxisFlags OwnLayer::extents() const {
  return {{"--hidden", std::to_string(shape.hidden)},
          {"--ffn", std::to_string(shape.ffn)},
          {"--bias", shape.bias ? "true" : "false"},
          {"--seqlen", std::to_string(seqlen)},
          {"--batch", std::to_string(batch)}};
}

OwnLayer read_own_layer(const std::string& path) {
  try {
    TensorFile file(path);
    OwnLayer layer;
    layer.path = path;
    layer.shape = shape_of_file(file);
    std::tie(layer.batch, layer.seqlen) = tokens_of_file(file, layer.shape);
    read_tensors(file, layer);
    layer.hash = file.hash();
    return layer;
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--tensors: '{}': {}", path, error.what()));
  }
}

}  // namespace sparkbench
