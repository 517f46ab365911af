#include "kernels/machine/cuda_check.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward.h"
#include "kernels/volta/forward_gpu.h"

namespace sparkbench::volta {
namespace {

template <class Config>
__global__ void __launch_bounds__(Config::kThreads)
    attention_forward_kernel(const ForwardParams params) {
  GpuMachine machine;
  attention_forward<Config>(machine, params);
}

}  // namespace

void launch_forward(Accumulator accumulator, const Problem& problem, const ForwardTensors& tensors,
                    CUstream_st* stream) {
  visit_instance(accumulator, problem, [&](auto mma, auto head_dim, auto has_dropout) {
    using Config = ForwardConfig<mma.value, head_dim.value, has_dropout.value>;
    constexpr int kSharedBytes = sizeof(ForwardTiles<Config>);
    CUDA_CHECK(cudaFuncSetAttribute(attention_forward_kernel<Config>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    const dim3 grid(static_cast<unsigned>(ceil_divide(problem.seqlen_q, kForwardBlockM)),
                    static_cast<unsigned>(problem.heads), static_cast<unsigned>(problem.batch));
    attention_forward_kernel<Config>
        <<<grid, Config::kThreads, kSharedBytes, stream>>>(forward_params(problem, tensors));
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace sparkbench::volta
