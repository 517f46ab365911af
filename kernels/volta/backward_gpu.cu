#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/volta/backward.h"
#include "kernels/volta/backward_dispatch.h"
#include "kernels/volta/backward_dq.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

template <Accumulator kAccumulator, int kHeadDim>
__global__ void __launch_bounds__(kRowThreads)
    prepare_statistics_kernel(const BackwardParams params) {
  GpuMachine machine;
  prepare_statistics<kAccumulator, kHeadDim>(machine, params);
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksPerSm)
    attention_backward_kernel(const BackwardParams params) {
  GpuMachine machine;
  attention_backward<Config>(machine, params);
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksPerSm)
    attention_backward_dq_kernel(const BackwardParams params) {
  GpuMachine machine;
  attention_backward_dq<Config>(machine, params);
}

template <Accumulator kAccumulator, int kHeadDim>
__global__ void __launch_bounds__(kRowThreads) round_dq_kernel(const BackwardParams params) {
  GpuMachine machine;
  round_dq<kAccumulator, kHeadDim>(machine, params);
}

/// A launch's place: the problem's heads and batch entries are grid axes y and z.
struct Launch {
  const Problem& problem;
  const BackwardParams& params;
  CUstream_st* stream;
  std::size_t shared_bytes_per_block;  // that the device has

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

template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq>
void launch_key_gradients_that_fit(const Launch& launch) {
  visit_backward_that_fits<kAccumulator, kHeadDim, kHasDropout, kComputesDq>(
      launch.shared_bytes_per_block,
      [&](auto config) { launch_key_gradients<decltype(config)>(launch); });
}

template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout>
void launch_dq_that_fits(const Launch& launch) {
  visit_backward_dq_that_fits<kAccumulator, kHeadDim, kHasDropout>(
      launch.shared_bytes_per_block, [&](auto config) { launch_dq<decltype(config)>(launch); });
}

}  // namespace

void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream) {
  const BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, is_deterministic));
  const Launch launch{problem, params, stream, shared_bytes_per_block()};
  visit_instance(accumulator, problem, [&](auto mma, auto head_dim, auto dropout) {
    constexpr int kHeadDim = head_dim.value;
    launch(prepare_statistics_kernel<mma.value, kHeadDim>,
           workspace_rows(problem.seqlen_q) / kRowsPerBlock, kRowThreads, 0);
    if (is_deterministic) {
      launch_key_gradients_that_fit<mma.value, kHeadDim, dropout.value, false>(launch);
      launch_dq_that_fits<mma.value, kHeadDim, dropout.value>(launch);
    } else {
      CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sums, 0,
                                 dq_sums_bytes(problem, is_deterministic), stream));
      launch_key_gradients_that_fit<mma.value, kHeadDim, dropout.value, true>(launch);
      launch(round_dq_kernel<mma.value, kHeadDim>, ceil_divide(problem.seqlen_q, kRowsPerBlock),
             kRowThreads, sizeof(RoundDqTiles<kHeadDim>));
    }
  });
}

}  // namespace sparkbench::volta
