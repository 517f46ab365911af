// The layouts of test_layouts.h in GPU memory, for tests.
#pragma once

#include <utility>
#include <vector>

#include "kernels/machine/cuda_check.h"
#include "kernels/machine/cuda_resources.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {

class DeviceTensor {
 public:
  explicit DeviceTensor(LaidOutTensor host)
      : host_(std::move(host)), memory_(host_.memory.size() * sizeof(Half)) {
    CUDA_CHECK(cudaMemcpy(memory_.as<void>(), host_.memory.data(), memory_.bytes(),
                          cudaMemcpyHostToDevice));
  }

  TensorView<Half> view() const {
    const RowStrides& strides = host_.strides;
    return {memory_.as<Half>() + host_.first, strides.batch, strides.seqlen, strides.head};
  }

  /// The current contents.
  LaidOutTensor to_host() const {
    LaidOutTensor now = host_;
    CUDA_CHECK(
        cudaMemcpy(now.memory.data(), memory_.as<void>(), memory_.bytes(), cudaMemcpyDeviceToHost));
    return now;
  }

 private:
  LaidOutTensor host_;
  DeviceBuffer memory_;
};

}  // namespace sparkbench
