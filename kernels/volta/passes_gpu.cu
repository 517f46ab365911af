#include "kernels/ceil_divide.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/pattern_launches.h"
#include "kernels/tile/merge_passes.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/passes_gpu.h"
#include "kernels/volta/passes_workspace.h"
#include "kernels/volta/sparse_gpu.h"

namespace sparkbench::volta {

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_merge_passes(const MergeParams params) {
  GpuMachine machine;
  merge_passes(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_gather_lse(const GatherParams params) {
  GpuMachine machine;
  gather_lse(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_sum_gradients(const SumParams params) {
  GpuMachine machine;
  sum_gradients(machine, params);
}

namespace {

dim3 grid_of_rows(const Problem& problem, int heads, int rows_of_block) {
  return {static_cast<unsigned>(ceil_divide(problem.seqlen_q, rows_of_block)),
          static_cast<unsigned>(heads), static_cast<unsigned>(problem.batch)};
}

void launch_sum(const Problem& problem, int heads, const SumParams& params, CUstream_st* stream) {
  spark_sum_gradients<<<grid_of_rows(problem, heads, kMergeRows), kMergeThreads, 0, stream>>>(
      params);
  CUDA_CHECK(cudaGetLastError());
}

int passes_of(const Problem& problem) { return static_cast<int>(problem.sparse->passes.size()); }

}  // namespace

void launch_passes_forward(ForwardAccumulators accumulators, const Problem& problem,
                           const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, const void* memory, CUstream_st* stream) {
  const PassesWorkspace layout = passes_workspace(problem, Pass::kForward, false);
  auto* const bytes = static_cast<std::byte*>(workspace);
  for (int pass = 0; pass < passes_of(problem); ++pass) {
    const ForwardTensors of_pass = tensors_of_pass(problem, tensors, pass, layout, bytes);
    for (const ViewLaunch& launch : view_launches(problem, pass)) {
      const ForwardTensors of_launch = tensors_of_launch(launch, of_pass);
      if (launch.problem.sparse) {
        launch_sparse_forward(accumulators, launch.problem, of_launch, lists,
                              lists.first_of_view(launch.view), memory, stream);
      } else {
        launch_forward(accumulators, launch.problem, of_launch, stream);
      }
    }
  }
  spark_merge_passes<<<grid_of_rows(problem, problem.heads, kMergeRows), kMergeThreads, 0,
                       stream>>>(merge_params(problem, tensors, layout, bytes));
  CUDA_CHECK(cudaGetLastError());
}

void launch_passes_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, const void* memory, bool is_deterministic,
                            CUstream_st* stream) {
  const PassesWorkspace layout = passes_workspace(problem, Pass::kBackward, is_deterministic);
  auto* const bytes = static_cast<std::byte*>(workspace);
  void* const own = bytes + layout.of_kernel;
  for (int pass = 0; pass < passes_of(problem); ++pass) {
    spark_gather_lse<<<grid_of_rows(problem, problem.heads, kMergeThreads), kMergeThreads, 0,
                       stream>>>(gather_params(problem, tensors, pass, layout, bytes));
    CUDA_CHECK(cudaGetLastError());
    const BackwardTensors of_pass = tensors_of_pass(problem, tensors, pass, layout, bytes);
    for (const ViewLaunch& launch : view_launches(problem, pass)) {
      const BackwardTensors of_launch = tensors_of_launch(launch, of_pass);
      if (launch.problem.sparse) {
        launch_sparse_backward(accumulator, launch.problem, of_launch, own, lists,
                               lists.first_of_view(launch.view), memory, is_deterministic, stream);
      } else {
        launch_backward(accumulator, launch.problem, of_launch, own, is_deterministic, stream);
      }
    }
  }
  if (passes_of(problem) == 1) return;
  const GradientSums sums = gradient_sums(problem, tensors, layout, bytes);
  launch_sum(problem, problem.heads, sums.dq, stream);
  launch_sum(problem, problem.key_heads(), sums.dk, stream);
  launch_sum(problem, problem.key_heads(), sums.dv, stream);
}

}  // namespace sparkbench::volta
