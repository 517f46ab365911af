// A problem's tensors in a GPU's memory, and the passes over them.
#pragma once

#include <memory>

#include "harness/devices/device.h"
#include "harness/timing/gpu_timer.h"

struct cublasContext;

namespace sparkbench {

/// Uploads the inputs to the current GPU. `gradients` is null when no backward pass will be run.
/// The references compute with the handle, which is the device's, so that its memory is no case's.
/// Throws OutOfDeviceMemory when the memory does not suffice.
std::unique_ptr<LoadedProblem> load_on_gpu(const ProblemData& data, GradientData* gradients,
                                           GpuTimer& timer,
                                           const std::shared_ptr<cublasContext>& cublas);

}  // namespace sparkbench
