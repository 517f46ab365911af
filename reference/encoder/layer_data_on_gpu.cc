#include "reference/encoder/layer_data_on_gpu.h"

#include <array>

#include "kernels/base/round_up.h"

namespace sparkbench {
namespace {

constexpr std::size_t kWeights = 12;
constexpr std::uint64_t kAlignment = 256;

using Tensors = std::array<const std::vector<Half>*, kWeights + 2>;

Tensors in_order(const LayerTensors& tensors) {
  const LayerWeights& weights = tensors.weights;
  return {&weights.w_qkv,   &weights.w_o,    &weights.w_1, &weights.w_2,     &weights.b_qkv,
          &weights.b_o,     &weights.b_1,    &weights.b_2, &weights.gamma_1, &weights.beta_1,
          &weights.gamma_2, &weights.beta_2, &tensors.x,   &tensors.d_y};
}

std::uint64_t bytes_of(const std::vector<Half>& tensor) { return tensor.size() * sizeof(Half); }

std::vector<std::uint64_t> places_of(const LayerTensors& tensors) {
  std::vector<std::uint64_t> places = {0};
  for (const std::vector<Half>* tensor : in_order(tensors)) {
    places.push_back(places.back() + round_up(bytes_of(*tensor), kAlignment));
  }
  return places;
}

}  // namespace

LayerDataOnGpu::LayerDataOnGpu(const LayerTensors& tensors)
    : places_(places_of(tensors)),
      weight_bytes_(places_.at(kWeights)),
      input_bytes_(bytes_of(tensors.x)),
      memory_(places_.back()) {
  upload(tensors);
}

void LayerDataOnGpu::upload(const LayerTensors& tensors) const {
  const Tensors all = in_order(tensors);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CUDA_CHECK(cudaMemcpy(memory_.as<std::byte>() + places_.at(i), all.at(i)->data(),
                          bytes_of(*all.at(i)), cudaMemcpyHostToDevice));
  }
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copies
}

LayerWeightPointers LayerDataOnGpu::weights() const {
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11)};
}

void LayerDataOnGpu::give_inputs(const GpuLayer& layer, cudaStream_t stream) const {
  const auto give = [&](const char* name, std::size_t index) {
    if (Half* const to = layer.tensor(name); to != nullptr) {
      CUDA_CHECK(cudaMemcpyAsync(to, at(index), input_bytes_, cudaMemcpyDeviceToDevice, stream));
    }
  };
  give("x", kWeights);
  give("dy", kWeights + 1);
}

}  // namespace sparkbench
