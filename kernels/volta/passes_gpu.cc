#include "kernels/volta/passes_gpu.h"

#include "kernels/merge_gpu.h"
#include "kernels/pattern_launches.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/passes_workspace.h"
#include "kernels/volta/sparse_gpu.h"

namespace sparkbench::volta {
namespace {

RowsOfHeads rows_of(const Problem& problem, int heads) {
  return {problem.seqlen_q, heads, problem.batch};
}

}  // namespace

void launch_passes_forward(ForwardAccumulators accumulators, const Problem& problem,
                           const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, const void* memory, CUstream_st* stream) {
  const PassesWorkspace layout = passes_workspace(accumulators, problem, Pass::kForward, false);
  auto* const bytes = static_cast<std::byte*>(workspace);
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    const ForwardTensors of_pass = tensors_of_pass(problem, tensors, pass, layout, bytes);
    for (const ViewLaunch& launch : view_launches(problem, pass)) {
      const ForwardTensors of_launch = tensors_of_launch(launch, of_pass);
      if (launch.problem.sparse) {
        launch_sparse_forward(accumulators, launch.problem, of_launch, bytes + layout.of_kernel,
                              lists, lists.first_of_view(launch.view), memory, stream);
      } else {
        launch_forward(accumulators, launch.problem, of_launch, stream);
      }
    }
  }
  launch_merge_passes(merge_params(problem, tensors, layout, bytes),
                      rows_of(problem, problem.heads), stream);
}

void launch_passes_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, const void* memory, bool is_deterministic,
                            CUstream_st* stream) {
  const PassesWorkspace layout =
      passes_workspace(accumulators_of(accumulator), problem, Pass::kBackward, is_deterministic);
  auto* const bytes = static_cast<std::byte*>(workspace);
  void* const own = bytes + layout.of_kernel;
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    launch_gather_lse(gather_params(problem, tensors, pass, layout, bytes),
                      rows_of(problem, problem.heads), stream);
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
  if (mask_pass_count(problem) == 1) return;
  const GradientSums sums = gradient_sums(problem, tensors, layout, bytes);
  launch_sum_gradients(sums.dq, rows_of(problem, problem.heads), stream);
  launch_sum_gradients(sums.dk, rows_of(problem, problem.key_heads()), stream);
  launch_sum_gradients(sums.dv, rows_of(problem, problem.key_heads()), stream);
}

}  // namespace sparkbench::volta
