// The NVIDIA GPUs of this machine.
#pragma once

#include <memory>
#include <string>

#include "harness/devices/device.h"

namespace sparkbench {

/// Number of usable GPUs: 0 without a driver, without a GPU, or in a build without CUDA.
int gpu_count();

/// Why gpu_count() is 0, and the remedy.
std::string why_no_gpu();

/// `index` in [0, gpu_count()). Throws EnvironmentError if the build has no machine code for the
/// GPU, std::runtime_error on a CUDA error.
std::unique_ptr<Device> open_gpu(int index);

}  // namespace sparkbench
