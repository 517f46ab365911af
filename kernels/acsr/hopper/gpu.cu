#include "kernels/acsr/gpu.h"
#include "kernels/acsr/hopper/instances.h"
#include "kernels/acsr/hopper/key_gradient.h"
#include "kernels/acsr/hopper/output.h"
#include "kernels/acsr/hopper/scores.h"
#include "kernels/acsr/launch.cuh"

namespace sparkbench::acsr {

using hopper::KeyGradientConfig;
using hopper::OutputConfig;
using hopper::ScoresConfig;
using hopper::ShortSoftmaxConfig;
using hopper::ShortSoftmaxGradientConfig;

#define SPARK_SCORES_KERNEL(symbol, id, ...)                                  \
  SPARK_ACSR_KERNEL(hopper::compute_scores<symbol##_config>(machine, params), \
                    (const ChainParams params), symbol, __VA_ARGS__)
#define SPARK_OUTPUT_KERNEL(symbol, id, ...)                                  \
  SPARK_ACSR_KERNEL(hopper::compute_output<symbol##_config>(machine, params), \
                    (const ChainParams params), symbol, __VA_ARGS__)
#define SPARK_KEY_GRADIENT_KERNEL(symbol, id, ...)                                  \
  SPARK_ACSR_KERNEL(hopper::compute_key_gradient<symbol##_config>(machine, params), \
                    (const ChainParams params), symbol, __VA_ARGS__)

SPARK_ACSR_HOPPER_SCORES(SPARK_SCORES_KERNEL)
SPARK_ACSR_HOPPER_SOFTMAX(SPARK_SOFTMAX_KERNEL)
SPARK_ACSR_HOPPER_SOFTMAX_GRADIENT(SPARK_SOFTMAX_GRADIENT_KERNEL)
SPARK_ACSR_HOPPER_OUTPUT(SPARK_OUTPUT_KERNEL)
SPARK_ACSR_HOPPER_KEY_GRADIENT(SPARK_KEY_GRADIENT_KERNEL)

namespace {

void launch_scores(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params,
                   CUstream_st* stream) {
  hopper::visit_scores(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, params), sizeof(hopper::ScoresTiles<Config>), stream, params);
  });
}

void launch_output(const Problem& problem, const MaskRows& /*rows*/, const ChainParams& params,
                   CUstream_st* stream) {
  hopper::visit_output(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(row_grid(problem, params), sizeof(hopper::OutputTiles<Config>), stream, params);
  });
}

void launch_key_gradient(const Problem& problem, const MaskRows& /*rows*/,
                         const ChainParams& params, CUstream_st* stream) {
  hopper::visit_key_gradient(problem.head_dim, [&](auto row, const char* /*id*/) {
    using Config = decltype(row);
    launch<Config>(key_grid(problem, params), sizeof(hopper::KeyGradientTiles<Config>), stream,
                   params);
  });
}

void launch_softmax(const Problem& problem, const MaskRows& rows, const ChainParams& params,
                    CUstream_st* stream) {
  if (!hopper::has_short_rows(rows.most_chunks())) {
    return kGpuM8n8k4.softmax(problem, rows, params, stream);
  }
  launch_rows<ShortSoftmaxConfig>(problem, params, stream, params);
}

void launch_softmax_gradient(const Problem& problem, const MaskRows& rows,
                             const ChainParams& params, const Half* probabilities,
                             CUstream_st* stream) {
  if (!hopper::has_short_rows(rows.most_chunks())) {
    return kGpuM8n8k4.softmax_gradient(problem, rows, params, probabilities, stream);
  }
  launch_rows<ShortSoftmaxGradientConfig>(problem, params, stream, params, probabilities);
}

}  // namespace

const GpuSteps kGpuWgmma = {launch_scores, launch_softmax, launch_output, launch_softmax_gradient,
                            launch_key_gradient};

}  // namespace sparkbench::acsr
