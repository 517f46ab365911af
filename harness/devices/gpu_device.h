// The NVIDIA GPUs of this machine.
#pragma once

#include <memory>
#include <string>

#include "harness/devices/device.h"

namespace sparkbench {

/// How many GPUs can be used: 0 without a driver, without a GPU, or in a build without CUDA.
int gpu_count();

/// Why gpu_count() is 0, and what to do about it.
std::string why_no_gpu();

/// `index` in [0, gpu_count()). Throws EnvironmentError when the build has no machine code for it,
/// std::runtime_error on a CUDA error.
std::unique_ptr<Device> open_gpu(int index);

}  // namespace sparkbench
