// A problem's tensors in a GPU's memory, and the passes over them.
#pragma once

#include <memory>

#include "harness/devices/device.h"
#include "harness/timing/gpu_timer.h"

struct cublasContext;

namespace sparkbench {

/// Uploads the inputs to the current GPU. `gradients` is null if no backward pass will run. The
/// references use `cublas`, which belongs to the device, so that its memory does not count for any
/// case. Throws OutOfDeviceMemory if there is too little memory.
std::unique_ptr<LoadedProblem> load_on_gpu(const ProblemData& data, GradientData* gradients,
                                           GpuTimer& timer,
                                           const std::shared_ptr<cublasContext>& cublas);

}  // namespace sparkbench
