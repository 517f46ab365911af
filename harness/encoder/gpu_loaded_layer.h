// Encoder layers in a GPU's memory.
#pragma once

#include <memory>

#include "harness/encoder/loaded_layer.h"
#include "harness/timing/gpu_timer.h"

struct cublasContext;

namespace sparkbench {

/// Uploads the weights and inputs to the current GPU. References use `cublas`, which belongs to the
/// device. Throws OutOfDeviceMemory.
std::unique_ptr<LoadedLayer> load_layer_on_gpu(const LayerWork& work, GpuTimer& timer,
                                               const std::shared_ptr<cublasContext>& cublas);

}  // namespace sparkbench
