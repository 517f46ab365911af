// From a row of a table of instances to a compiled kernel, and to its launch.
#pragma once

#include "kernels/baselines/acsr/gpu.h"
#include "kernels/baselines/acsr/softmax.h"
#include "kernels/baselines/acsr/softmax_gradient.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::acsr {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

/// Compiles body as `symbol`: arguments are those of the kernel, `params` among them. At namespace
/// scope of sparkbench::acsr.
#define SPARK_ACSR_KERNEL(body, arguments, symbol, ...)                                          \
  using symbol##_config = __VA_ARGS__;                                                           \
  extern "C" __global__ void __launch_bounds__(symbol##_config::kThreads,                        \
                                               symbol##_config::kBlocksPerSm) symbol arguments { \
    GpuMachine machine;                                                                          \
    body;                                                                                        \
  }                                                                                              \
  template <>                                                                                    \
  struct KernelOf<symbol##_config> {                                                             \
    static constexpr auto kFunction = symbol;                                                    \
  };

#define SPARK_SOFTMAX_KERNEL(symbol, id, ...)                                                     \
  SPARK_ACSR_KERNEL(normalize_rows<symbol##_config>(machine, params), (const ChainParams params), \
                    symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_GRADIENT_KERNEL(symbol, id, ...)                                   \
  SPARK_ACSR_KERNEL(differentiate_rows<symbol##_config>(machine, params, probabilities), \
                    (const ChainParams params, const Half* probabilities), symbol, __VA_ARGS__)

/// So many blocks for each head, in each batch entry.
struct ChainGrid {
  int blocks, heads, batch;
};
inline ChainGrid row_grid(const Problem& problem, const ChainParams& params) {
  return {params.blocks_of_head, problem.heads, problem.batch};
}
inline ChainGrid key_grid(const Problem& problem, const ChainParams& params) {
  return {params.key_blocks_of_head, problem.key_heads(), problem.batch};
}

template <class Config, class... Arguments>
void launch(const ChainGrid& blocks, std::size_t shared_bytes, CUstream_st* stream,
            const Arguments&... arguments) {
  const auto kernel = KernelOf<Config>::kFunction;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  const dim3 grid(static_cast<unsigned>(blocks.blocks), static_cast<unsigned>(blocks.heads),
                  static_cast<unsigned>(blocks.batch));
  kernel<<<grid, Config::kThreads, shared_bytes, stream>>>(arguments...);
  CUDA_CHECK(cudaGetLastError());
}

/// Softmax, or its gradient.
template <class Config, class... Arguments>
void launch_rows(const Problem& problem, const ChainParams& params, CUstream_st* stream,
                 const Arguments&... arguments) {
  ChainGrid grid = row_grid(problem, params);
  grid.blocks *= Config::kBlocksOfRows;
  launch<Config>(grid, 0, stream, arguments...);
}

}  // namespace sparkbench::acsr
