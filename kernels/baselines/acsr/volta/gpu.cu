#include "kernels/baselines/acsr/gpu.h"

#include "kernels/baselines/acsr/launch.cuh"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/baselines/acsr/volta/key_gradient.h"
#include "kernels/baselines/acsr/volta/output.h"
#include "kernels/baselines/acsr/volta/scores.h"

namespace sparkbench::acsr {

#define SPARK_SCORES_KERNEL(symbol, id, ...)                                                      \
  SPARK_ACSR_KERNEL(compute_scores<symbol##_config>(machine, params), (const ChainParams params), \
                    symbol, __VA_ARGS__)
#define SPARK_OUTPUT_KERNEL(symbol, id, ...)                                                      \
  SPARK_ACSR_KERNEL(compute_output<symbol##_config>(machine, params), (const ChainParams params), \
                    symbol, __VA_ARGS__)
#define SPARK_KEY_GRADIENT_KERNEL(symbol, id, ...)                          \
  SPARK_ACSR_KERNEL(compute_key_gradient<symbol##_config>(machine, params), \
                    (const ChainParams params), symbol, __VA_ARGS__)

SPARK_ACSR_SCORES(SPARK_SCORES_KERNEL)
SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_KERNEL)
SPARK_ACSR_OUTPUT(SPARK_OUTPUT_KERNEL)
SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_SOFTMAX_GRADIENT_KERNEL)
SPARK_ACSR_KEY_GRADIENT(SPARK_KEY_GRADIENT_KERNEL)

void launch_scores(const Problem& problem, const ChainParams& params, CUstream_st* stream) {
  visit_scores(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, params), sizeof(ScoresTiles<Config>), stream, params);
  });
}

void launch_output(const Problem& problem, const ChainParams& params, CUstream_st* stream) {
  visit_output(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, params), sizeof(OutputTiles<Config>), stream, params);
  });
}

void launch_key_gradient(const Problem& problem, const ChainParams& params, CUstream_st* stream) {
  visit_key_gradient(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(key_grid(problem, params), sizeof(KeyGradientTiles<Config>), stream, params);
  });
}

void launch_softmax(const Problem& problem, const ChainParams& params, CUstream_st* stream) {
  launch_rows<SoftmaxConfig>(problem, params, stream, params);
}

void launch_softmax_gradient(const Problem& problem, const ChainParams& params,
                             const Half* probabilities, CUstream_st* stream) {
  launch_rows<SoftmaxGradientConfig>(problem, params, stream, params, probabilities);
}

}  // namespace sparkbench::acsr
