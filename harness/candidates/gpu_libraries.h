// Versions of what a GPU run depends on.
#pragma once

#include <optional>
#include <string>

namespace sparkbench {

/// Null what is not there, or was not built in.
struct GpuLibraries {
  std::optional<std::string> driver_version;  // NVIDIA's, from NVML
  std::optional<std::string> cuda_driver;     // the newest CUDA that the driver supports
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> cublas_version;
  std::optional<std::string> cudnn_version;  // of the one that the dynamic loader finds
};

GpuLibraries gpu_libraries();

/// Of a build with CUDA, whose references call it: "13.1.0". Throws std::runtime_error when cuBLAS
/// does not say.
std::string cublas_version();

}  // namespace sparkbench
