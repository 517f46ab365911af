// The GPU path of a build without CUDA.
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"

namespace sparkbench {

int gpu_count() { return 0; }

std::string why_no_gpu() {
  return "this build has no GPU path, since CMake found no GPU or was told to do without CUDA; for "
         "the GPUs of a machine, there: bash harness/bootstrap.sh sweep; for others: --arch 70";
}

std::unique_ptr<Device> open_gpu(int /*index*/) { throw EnvironmentError(why_no_gpu()); }

}  // namespace sparkbench
