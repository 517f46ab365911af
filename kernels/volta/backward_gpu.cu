#include "kernels/machine/cuda_check.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/backward.h"
#include "kernels/volta/backward_dq.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

template <int kHeadDim>
__global__ void __launch_bounds__(kRowThreads)
    attention_backward_delta_kernel(const BackwardParams params) {
  GpuMachine machine;
  attention_backward_delta<kHeadDim>(machine, params);
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads)
    attention_backward_kernel(const BackwardParams params) {
  GpuMachine machine;
  attention_backward<Config>(machine, params);
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads)
    attention_backward_dq_kernel(const BackwardParams params) {
  GpuMachine machine;
  attention_backward_dq<Config>(machine, params);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kRowThreads) round_dq_kernel(const BackwardParams params) {
  GpuMachine machine;
  round_dq<kHeadDim>(machine, params);
}

/// A launch's place: the problem's heads and batch entries are grid axes y and z.
struct Launch {
  const Problem& problem;
  const BackwardParams& params;
  CUstream_st* stream;

  template <class Kernel>
  void operator()(Kernel kernel, int blocks, int threads, int shared_bytes) const {
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(problem.heads),
                    static_cast<unsigned>(problem.batch));
    kernel<<<grid, threads, shared_bytes, stream>>>(params);
    CUDA_CHECK(cudaGetLastError());
  }
};

template <class Config>
void launch_key_gradients(const Launch& launch) {
  launch(attention_backward_kernel<Config>,
         ceil_divide(launch.problem.seqlen_k, Config::kBlockKeys), Config::kThreads,
         sizeof(BackwardTiles<Config>));
}

template <class Config>
void launch_dq(const Launch& launch) {
  launch(attention_backward_dq_kernel<Config>,
         ceil_divide(launch.problem.seqlen_q, Config::kBlockM), Config::kThreads,
         sizeof(BackwardDqTiles<Config>));
}

}  // namespace

void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream) {
  const BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, is_deterministic));
  const Launch launch{problem, params, stream};
  visit_instance(accumulator, problem, [&](auto mma, auto head_dim, auto dropout) {
    constexpr int kHeadDim = head_dim.value;
    const int row_blocks = ceil_divide(problem.seqlen_q, kRowsPerBlock);
    launch(attention_backward_delta_kernel<kHeadDim>, row_blocks, kRowThreads, 0);
    if (is_deterministic) {
      launch_key_gradients<BackwardConfig<mma.value, kHeadDim, dropout.value, false>>(launch);
      launch_dq<BackwardDqConfig<mma.value, kHeadDim, dropout.value>>(launch);
    } else {
      CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sum, 0,
                                 dq_sum_bytes(problem, is_deterministic), stream));
      launch_key_gradients<BackwardConfig<mma.value, kHeadDim, dropout.value, true>>(launch);
      launch(round_dq_kernel<kHeadDim>, row_blocks, kRowThreads, 0);
    }
  });
}

}  // namespace sparkbench::volta
