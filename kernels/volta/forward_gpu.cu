#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/schedules.h"
#include "kernels/volta/forward_dispatch.h"
#include "kernels/volta/forward_gpu.h"

namespace sparkbench::volta {
namespace {

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksPerSm)
    attention_forward_kernel(const ForwardParams params) {
  GpuMachine machine;
  attention_forward<Config>(machine, params);
}

template <class Config>
void launch(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  constexpr int kSharedBytes = sizeof(ForwardTiles<Config>);
  CUDA_CHECK(cudaFuncSetAttribute(attention_forward_kernel<Config>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const dim3 grid(static_cast<unsigned>(ceil_divide(problem.seqlen_q, Config::kBlockM)),
                  static_cast<unsigned>(problem.heads), static_cast<unsigned>(problem.batch));
  attention_forward_kernel<Config>
      <<<grid, Config::kThreads, kSharedBytes, stream>>>(forward_params(problem, tensors));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_forward(ForwardAccumulators accumulators, const Problem& problem,
                    const ForwardTensors& tensors, CUstream_st* stream) {
  visit_forward_instance(accumulators, problem, [&](auto instance) {
    using Config = typename decltype(instance)::Config;
    if (sizeof(ForwardTiles<Config>) <= shared_bytes_per_block()) {
      launch<Config>(problem, tensors, stream);
    } else {
      launch<typename decltype(instance)::SmallConfig>(problem, tensors, stream);
    }
  });
}

}  // namespace sparkbench::volta
