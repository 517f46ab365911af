#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/launch.cuh"

namespace sparkbench::volta {

SPARK_VOLTA_FORWARD(SPARK_FORWARD_KERNEL)

void launch_forward(Accumulator accumulator, const Problem& problem, const ForwardTensors& tensors,
                    CUstream_st* stream) {
  const ForwardParams params = forward_params(problem, tensors);
  visit_forward(accumulator, {problem, shared_bytes_per_block()}, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const int blocks = ceil_divide(problem.seqlen_q, Config::kBlockM);
    launch<Config>(params, {blocks, problem.heads, problem.batch}, sizeof(ForwardTiles<Config>),
                   stream);
  });
}

}  // namespace sparkbench::volta
