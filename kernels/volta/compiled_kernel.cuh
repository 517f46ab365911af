// From a row of instances.h to a compiled kernel, which a plan launches (plan.h).
#pragma once

#include "kernels/machine/gpu.cuh"
#include "kernels/volta/instances.h"

namespace sparkbench::volta {

/// False in Turing's code for kernels that are never launched there, where blocks have 64 KiB of
/// shared memory: varlen and patterns (kernel_family.cc). They would be half of a build for it.
template <class Config>
__device__ constexpr bool is_launched_here() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  return !kIsVarlen<Config> && !kIsSparse<Config>;
#else
  return true;
#endif
}

/// Compiles body<Config>(machine, params) as `symbol`. At namespace scope.
#define SPARK_VOLTA_KERNEL(body, Params, symbol, ...)                                         \
  using symbol##_config = __VA_ARGS__;                                                        \
  extern "C" __global__ void __launch_bounds__(                                               \
      symbol##_config::kThreads, symbol##_config::kBlocksPerSm) symbol(const Params params) { \
    GpuMachine machine;                                                                       \
    if constexpr (is_launched_here<symbol##_config>()) {                                      \
      body<symbol##_config>(machine, params);                                                 \
    }                                                                                         \
  }

/// The same of a row of a table of instances.h, by the kernel that the table is of.
#define SPARK_FORWARD_KERNEL(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(attention_forward, ForwardParams, symbol, __VA_ARGS__)
#define SPARK_BACKWARD_KERNEL(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(attention_backward, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_BACKWARD_DQ_KERNEL(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(attention_backward_dq, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_STATISTICS_KERNEL(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(prepare_statistics, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_ROUND_DQ_KERNEL(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(round_dq, BackwardParams, symbol, __VA_ARGS__)

}  // namespace sparkbench::volta
