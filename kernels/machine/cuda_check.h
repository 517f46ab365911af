// CUDA_CHECK turns an error of the CUDA runtime into an exception.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {

/// Throws std::runtime_error (OutOfDeviceMemory if it is that) with the file, line and call, and
/// the error's name and description.
inline void cuda_check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // forgotten here, or the next check of a launch would report it again
  const std::string what = std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorName(error) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

}  // namespace sparkbench

/// CUDA_CHECK(cudaMalloc(&p, n)); after a launch CUDA_CHECK(cudaGetLastError()). A macro because
/// only a macro knows the call's text and line in C++17.
#define CUDA_CHECK(call) ::sparkbench::cuda_check((call), #call, __FILE__, __LINE__)
