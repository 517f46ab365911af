// From a row of instances.h to a compiled kernel, and to its launch.
#pragma once

#include "kernels/hopper/instances.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::hopper {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

/// Compiles attention_forward<Config>(machine, params) as `symbol`. At namespace scope.
#define SPARK_HOPPER_FORWARD_KERNEL(symbol, id, ...)                          \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const __grid_constant__ ForwardParams params) {                  \
    GpuMachine machine;                                                       \
    attention_forward<symbol##_config>(machine, params);                      \
  }                                                                           \
  template <>                                                                 \
  struct KernelOf<symbol##_config> {                                          \
    static constexpr auto kFunction = symbol;                                 \
  };

/// Launches a row's kernel.
template <class Config>
void launch(const ForwardParams& params, const dim3& grid, CUstream_st* stream) {
  const auto kernel = KernelOf<Config>::kFunction;
  constexpr std::size_t kSharedBytes = sizeof(ForwardTiles<Config>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kSharedBytes)));
  kernel<<<grid, Config::kThreads, kSharedBytes, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench::hopper
