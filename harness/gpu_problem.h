// A problem's tensors in a GPU's memory, and the passes over them.
#pragma once

#include <memory>

#include "harness/device.h"
#include "harness/gpu_timer.h"

namespace sparkbench {

/// Uploads the inputs to the current GPU. `gradients` is null when no backward pass will be run.
/// Throws std::runtime_error when the memory does not suffice.
std::unique_ptr<LoadedProblem> load_on_gpu(const ProblemData& data, GradientData* gradients,
                                           GpuTimer& timer);

}  // namespace sparkbench
