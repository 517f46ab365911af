// The GPU path of a build without CUDA.
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"

namespace sparkbench {

int gpu_count() { return 0; }

std::unique_ptr<Device> open_gpu(int /*index*/) {
  throw EnvironmentError("this build has no GPU path: CMake found no CUDA toolkit");
}

}  // namespace sparkbench
