// A layer's weights and input in a GPU's memory.
#pragma once

#include "kernels/machine/cuda_resources.h"
#include "reference/encoder/gpu_layer.h"
#include "reference/encoder/layer_data.h"

namespace sparkbench {

class LayerDataOnGpu {
 public:
  /// Uploads to the current device. Throws OutOfDeviceMemory.
  explicit LayerDataOnGpu(const LayerTensors& tensors);
  /// Replaces all tensors. `tensors` has the shapes that the constructor was given.
  void upload(const LayerTensors& tensors) const;

  LayerWeightPointers weights() const;
  /// Copies x, and d_y if the layer has a backward pass, into the layer's own memory.
  void give_inputs(const GpuLayer& layer, cudaStream_t stream) const;
  std::uint64_t weight_bytes() const { return weight_bytes_; }
  /// In the order of named_tensors().
  const Half* at(std::size_t index) const {
    return reinterpret_cast<const Half*>(memory_.as<std::byte>() + places_.at(index));
  }

 private:
  std::vector<std::uint64_t> places_;  // offsets of the tensors, weights first
  std::uint64_t weight_bytes_ = 0, input_bytes_ = 0;
  DeviceBuffer memory_;
};

}  // namespace sparkbench
