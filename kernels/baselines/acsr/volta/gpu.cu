#include "kernels/baselines/acsr/softmax.h"
#include "kernels/baselines/acsr/softmax_gradient.h"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/baselines/acsr/volta/key_gradient.h"
#include "kernels/baselines/acsr/volta/output.h"
#include "kernels/baselines/acsr/volta/scores.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench::acsr {

/// Compiles body<Config>(machine, params) as `symbol`, which a plan launches (plan.h).
#define SPARK_ACSR_KERNEL(body, Params, symbol, ...)                                          \
  using symbol##_config = __VA_ARGS__;                                                        \
  extern "C" __global__ void __launch_bounds__(                                               \
      symbol##_config::kThreads, symbol##_config::kBlocksPerSm) symbol(const Params params) { \
    GpuMachine machine;                                                                       \
    body<symbol##_config>(machine, params);                                                   \
  }

#define SPARK_SCORES_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(compute_scores, ChainParams, symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(normalize_rows, ChainParams, symbol, __VA_ARGS__)
#define SPARK_OUTPUT_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(compute_output, ChainParams, symbol, __VA_ARGS__)
#define SPARK_SOFTMAX_GRADIENT_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(differentiate_rows, SoftmaxGradientParams, symbol, __VA_ARGS__)
#define SPARK_KEY_GRADIENT_KERNEL(symbol, id, ...) \
  SPARK_ACSR_KERNEL(compute_key_gradient, ChainParams, symbol, __VA_ARGS__)

SPARK_ACSR_SCORES(SPARK_SCORES_KERNEL)
SPARK_ACSR_SOFTMAX(SPARK_SOFTMAX_KERNEL)
SPARK_ACSR_OUTPUT(SPARK_OUTPUT_KERNEL)
SPARK_ACSR_SOFTMAX_GRADIENT(SPARK_SOFTMAX_GRADIENT_KERNEL)
SPARK_ACSR_KEY_GRADIENT(SPARK_KEY_GRADIENT_KERNEL)

}  // namespace sparkbench::acsr
