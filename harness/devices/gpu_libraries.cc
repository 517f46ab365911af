#include "harness/devices/gpu_libraries.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "reference/cudnn/attention.h"

namespace sparkbench {
namespace {

/// CUDA encodes 12.4 as 12040.
std::string spell_cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::optional<std::string> read_cublas_version() {
  int part[3] = {};
  const libraryPropertyType properties[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i) {
    if (cublasGetProperty(properties[i], &part[i]) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  }
  return std::to_string(part[0]) + "." + std::to_string(part[1]) + "." + std::to_string(part[2]);
}

}  // namespace

GpuLibraries gpu_libraries() {
  GpuLibraries libraries;
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess && version != 0) {
    libraries.driver_version = "supports CUDA " + spell_cuda_version(version);
  }
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    libraries.cuda_runtime = spell_cuda_version(version);
  }
  libraries.cublas_version = read_cublas_version();
  libraries.cudnn_version = cudnn_version();
  return libraries;
}

}  // namespace sparkbench
