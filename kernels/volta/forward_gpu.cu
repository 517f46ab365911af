#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/launch.cuh"
#include "kernels/volta/schedules.h"

namespace sparkbench::volta {

#define SPARK_ROW(symbol, id, ...) \
  SPARK_VOLTA_KERNEL(attention_forward, ForwardParams, symbol, __VA_ARGS__)
SPARK_VOLTA_FORWARD(SPARK_ROW)
#undef SPARK_ROW

void launch_forward(ForwardAccumulators accumulators, const Problem& problem,
                    const ForwardTensors& tensors, CUstream_st* stream) {
  const ForwardParams params = forward_params(problem, tensors);
  visit_forward(accumulators, {problem, shared_bytes_per_block()}, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const int blocks = ceil_divide(problem.seqlen_q, Config::kBlockM);
    launch<Config>(params, {blocks, problem.heads, problem.batch}, sizeof(ForwardTiles<Config>),
                   stream);
  });
}

}  // namespace sparkbench::volta
