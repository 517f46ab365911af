// From a row of instances.h to a compiled kernel, which a plan launches (plan.h).
#pragma once

#include "kernels/hopper/instances.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::hopper {

/// Compiles body<Config>(machine, params) as `symbol`. At namespace scope.
#define SPARK_HOPPER_KERNEL(body, Params, symbol, ...)                        \
  using symbol##_config = __VA_ARGS__;                                        \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,     \
                                               symbol##_config::kBlocksPerSm) \
      symbol(const __grid_constant__ Params params) {                         \
    GpuMachine machine;                                                       \
    body<symbol##_config>(machine, params);                                   \
  }
#define SPARK_HOPPER_FORWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_forward, LaunchParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_CARRIED_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward_carried, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_BACKWARD_DQ_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(attention_backward_dq, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_STATISTICS_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(prepare_statistics, BackwardParams, symbol, __VA_ARGS__)
#define SPARK_HOPPER_ROUND_DQ_KERNEL(symbol, id, ...) \
  SPARK_HOPPER_KERNEL(round_dq, BackwardParams, symbol, __VA_ARGS__)

}  // namespace sparkbench::hopper
