#include "kernels/acsr/gpu.h"

#include "kernels/acsr/instances.h"
#include "kernels/acsr/key_gradient.h"
#include "kernels/acsr/output.h"
#include "kernels/acsr/scores.h"
#include "kernels/acsr/softmax.h"
#include "kernels/acsr/softmax_gradient.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::acsr {
namespace {

/// The compiled kernel of a row's configuration.
template <class Config>
struct KernelOf;

}  // namespace

/// Compiles body as `symbol`: arguments are those of the kernel, `params` among them.
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
#define SPARK_SCORES_KERNEL(symbol, id, ...)                                                      \
  SPARK_ACSR_KERNEL(compute_scores<symbol##_config>(machine, params), (const ChainParams params), \
                    symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_KERNEL(symbol, id, ...)                                            \
  SPARK_ACSR_KERNEL(normalize_rows(machine, params), (const ChainParams params), symbol, \
                    __VA_ARGS__)
#define SPARK_OUTPUT_KERNEL(symbol, id, ...)                                                      \
  SPARK_ACSR_KERNEL(compute_output<symbol##_config>(machine, params), (const ChainParams params), \
                    symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_GRADIENT_KERNEL(symbol, id, ...)                  \
  SPARK_ACSR_KERNEL(differentiate_rows(machine, params, probabilities), \
                    (const ChainParams params, const Half* probabilities), symbol, __VA_ARGS__)
#define SPARK_KEY_GRADIENT_KERNEL(symbol, id, ...)                          \
  SPARK_ACSR_KERNEL(compute_key_gradient<symbol##_config>(machine, params), \
                    (const ChainParams params), symbol, __VA_ARGS__)

SPARK_ACSR_SCORES(SPARK_SCORES_KERNEL)
SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_KERNEL)
SPARK_ACSR_OUTPUT(SPARK_OUTPUT_KERNEL)
SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_SOFTMAX_GRADIENT_KERNEL)
SPARK_ACSR_KEY_GRADIENT(SPARK_KEY_GRADIENT_KERNEL)

namespace {

/// A grid of so many blocks of each of so many heads, in each batch entry.
struct Grid {
  int blocks, heads, batch;
};

template <class Config, class... Arguments>
void launch(const Grid& blocks, std::size_t shared_bytes, CUstream_st* stream,
            const Arguments&... arguments) {
  const auto kernel = KernelOf<Config>::kFunction;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  const dim3 grid(static_cast<unsigned>(blocks.blocks), static_cast<unsigned>(blocks.heads),
                  static_cast<unsigned>(blocks.batch));
  kernel<<<grid, Config::kThreads, shared_bytes, stream>>>(arguments...);
  CUDA_CHECK(cudaGetLastError());
}

Grid row_grid(const Problem& problem, const MaskRows& rows, int parts) {
  return {parts * rows.blocks_of_head(), problem.heads, problem.batch};
}

void launch_scores(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                   CUstream_st* stream) {
  visit_scores(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, rows, 1), sizeof(ScoresTiles<Config>), stream, params);
  });
}

void launch_output(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                   CUstream_st* stream) {
  visit_output(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, rows, 1), sizeof(OutputTiles<Config>), stream, params);
  });
}

void launch_key_gradient(const Problem& problem, const MaskKeys& keys, const ChainParams& params,
                         CUstream_st* stream) {
  visit_key_gradient(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>({keys.blocks_of_head(), problem.key_heads(), problem.batch},
                   sizeof(KeyGradientTiles<Config>), stream, params);
  });
}

}  // namespace

void launch_forward(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                    CUstream_st* stream) {
  launch_scores(problem, rows, params, stream);
  launch<SoftmaxConfig>(row_grid(problem, rows, SoftmaxConfig::kBlocksOfRows), 0, stream, params);
  launch_output(problem, rows, params, stream);
}

void launch_backward(const Problem& problem, const MaskRows& rows, const MaskKeys& keys,
                     const GradientParams& params, CUstream_st* stream) {
  launch_scores(problem, rows, params.scores, stream);
  launch<SoftmaxGradientConfig>(row_grid(problem, rows, SoftmaxGradientConfig::kBlocksOfRows), 0,
                                stream, params.scores, params.probabilities);
  launch_output(problem, rows, params.dq, stream);
  launch_key_gradient(problem, keys, params.dv, stream);
  launch_key_gradient(problem, keys, params.dk, stream);
}

}  // namespace sparkbench::acsr
