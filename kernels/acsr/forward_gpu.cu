#include "kernels/acsr/forward_gpu.h"

#include "kernels/acsr/instances.h"
#include "kernels/acsr/output.h"
#include "kernels/acsr/scores.h"
#include "kernels/acsr/softmax.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::acsr {
namespace {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

}  // namespace

#define SPARK_ACSR_KERNEL(body, symbol, ...)                                                       \
  using symbol##_config = __VA_ARGS__;                                                             \
  extern "C" __global__ void __launch_bounds__(                                                    \
      symbol##_config::kThreads, symbol##_config::kBlocksPerSm) symbol(const ChainParams params) { \
    GpuMachine machine;                                                                            \
    body(machine, params);                                                                         \
  }                                                                                                \
  template <>                                                                                      \
  struct KernelOf<symbol##_config> {                                                               \
    static constexpr auto kFunction = symbol;                                                      \
  };
#define SPARK_SCORES_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(compute_scores<symbol##_config>, symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_KERNEL(symbol, id, ...) SPARK_ACSR_KERNEL(normalize_rows, symbol, __VA_ARGS__)
#define SPARK_OUTPUT_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(compute_output<symbol##_config>, symbol, __VA_ARGS__)

SPARK_ACSR_SCORES(SPARK_SCORES_KERNEL)
SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_KERNEL)
SPARK_ACSR_OUTPUT(SPARK_OUTPUT_KERNEL)

namespace {

/// `blocks` of a head.
template <class Config>
void launch(const Problem& problem, int blocks, std::size_t shared_bytes, const ChainParams& params,
            CUstream_st* stream) {
  const auto kernel = KernelOf<Config>::kFunction;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(problem.heads),
                  static_cast<unsigned>(problem.batch));
  kernel<<<grid, Config::kThreads, shared_bytes, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_forward(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                    CUstream_st* stream) {
  const int blocks = rows.blocks_of_head();
  visit_scores(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(problem, blocks, sizeof(ScoresTiles<Config>), params, stream);
  });
  launch<SoftmaxConfig>(problem, SoftmaxConfig::kBlocksOfRows * blocks, 0, params, stream);
  visit_output(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(problem, blocks, sizeof(OutputTiles<Config>), params, stream);
  });
}

}  // namespace sparkbench::acsr
