#include "harness/candidates/gpu_libraries.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "harness/devices/nvml.h"
#include "reference/cudnn/attention.h"

namespace sparkbench {
namespace {

/// CUDA encodes 12.4 as 12040.
std::string spell_cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string cublas_version() {
  int part[3] = {};
  const libraryPropertyType properties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i) {
    if (cublasGetProperty(properties[i], &part[i]) != CUBLAS_STATUS_SUCCESS) {
      throw std::runtime_error("cublasGetProperty: cuBLAS does not tell its version");
    }
  }
  return std::to_string(part[0]) + "." + std::to_string(part[1]) + "." + std::to_string(part[2]);
}

GpuLibraries gpu_libraries() {
  GpuLibraries libraries;
  int version = 0;
  libraries.driver_version = Nvml().driver_version();
  if (cudaDriverGetVersion(&version) == cudaSuccess && version != 0) {
    libraries.cuda_driver = spell_cuda_version(version);
  }
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    libraries.cuda_runtime = spell_cuda_version(version);
  }
  libraries.cublas_version = cublas_version();
  libraries.cudnn_version = cudnn_version();
  return libraries;
}

}  // namespace sparkbench
