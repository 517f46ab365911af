// The NVIDIA GPUs of this machine.
#pragma once

#include <memory>

#include "harness/devices/device.h"

namespace sparkbench {

/// How many GPUs can be used: 0 without a driver, without a GPU, or in a build without CUDA.
int gpu_count();

/// `index` in [0, gpu_count()). Throws EnvironmentError when the build has no machine code for it,
/// std::runtime_error on a CUDA error.
std::unique_ptr<Device> open_gpu(int index);

}  // namespace sparkbench
