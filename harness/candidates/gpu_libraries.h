// Versions of the libraries that a GPU run depends on.
#pragma once

#include <optional>
#include <string>

namespace sparkbench {

/// Null if missing, or not built in.
struct GpuLibraries {
  std::optional<std::string> driver_version;  // NVIDIA's, from NVML
  std::optional<std::string> cuda_driver;     // the newest CUDA that the driver supports
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> cublas_version;
  std::optional<std::string> cudnn_version;  // of the library that the dynamic loader finds
};

GpuLibraries gpu_libraries();

/// For a build with CUDA, whose references call cuBLAS: "13.1.0". Throws std::runtime_error if
/// cuBLAS does not report it.
std::string cublas_version();

}  // namespace sparkbench
