// From a row of instances.h to a compiled kernel, and to its launch.
#pragma once

#include "kernels/hopper/instances.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::hopper {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

/// Compiles body<Config>(machine, params) as `symbol`. At namespace scope.
#define SPARK_HOPPER_KERNEL(body, Params, symbol, ...)                        \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const __grid_constant__ Params params) {                         \
    GpuMachine machine;                                                       \
    body<symbol##_config>(machine, params);                                   \
  }                                                                           \
  template <>                                                                 \
  struct KernelOf<symbol##_config> {                                          \
    static constexpr auto kFunction = symbol;                                 \
  };
#define SPARK_HOPPER_FORWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_forward, ForwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_DQ_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward_dq, BackwardParams, symbol, __VA_ARGS__)

inline dim3 grid_of(int x, int y, int z) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

/// Launches a row's kernel.
template <class Config, class Params>
void launch(const Params& params, const dim3& grid, CUstream_st* stream) {
  const auto kernel = KernelOf<Config>::kFunction;
  constexpr std::size_t kSharedBytes = sizeof(typename Config::Tiles);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kSharedBytes)));
  kernel<<<grid, Config::kThreads, kSharedBytes, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench::hopper
