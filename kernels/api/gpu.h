// What the library asks of CUDA itself. A build without CUDA has gpu_absent.cc instead.
#pragma once

#include <string>

#include "kernels/attention_kernel.h"

namespace sparkbench {

/// Makes a GPU the calling thread's current one, and puts back the former at its end. Throws
/// ApiError (DEVICE_ERROR) where there is no such GPU.
class CurrentGpu {
 public:
  explicit CurrentGpu(int device);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int former_ = -1;  // -1: nothing to put back
};

/// What decides which kernels run on it, found out once a GPU. Throws ApiError: NO_DEVICE_CODE,
/// with the cure, where the library has no code for it; DEVICE_ERROR where there is none of that
/// number.
KernelDevice describe_gpu(int device);

/// "70;75;80", or "" without CUDA.
const char* compiled_architectures();

}  // namespace sparkbench
