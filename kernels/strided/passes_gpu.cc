#include "kernels/strided/passes_gpu.h"

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/launch/run_gpu.h"

namespace sparkbench {
namespace {

RowsOfHeads rows_of(const Problem& problem, int heads) {
  return {problem.seqlen_q, heads, problem.batch};
}

}  // namespace

void launch_passes_forward(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                           const PassesWorkspace& layout, const LaunchForwardView& launch_view,
                           CUstream_st* stream) {
  auto* const bytes = static_cast<std::byte*>(workspace);
  const TokenHeads heads = token_heads(problem, tensors);
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    const ForwardTensors of_pass = tensors_of_pass(problem, tensors, pass, layout, bytes);
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      launch_view(launch, tensors_of_launch(launch, of_pass), bytes + layout.of_kernel);
    }
  }
  run_on_stream({merge_passes_step(merge_params(problem, tensors, layout, bytes),
                                   rows_of(problem, problem.heads))},
                stream);
}

void launch_passes_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                            const PassesWorkspace& layout, const LaunchBackwardView& launch_view,
                            CUstream_st* stream) {
  auto* const bytes = static_cast<std::byte*>(workspace);
  const TokenHeads heads = token_heads(problem, tensors);
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    run_on_stream({gather_lse_step(gather_params(problem, tensors, pass, layout, bytes),
                                   rows_of(problem, problem.heads))},
                  stream);
    const BackwardTensors of_pass = tensors_of_pass(problem, tensors, pass, layout, bytes);
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      launch_view(launch, tensors_of_launch(launch, of_pass), bytes + layout.of_kernel);
    }
  }
  if (mask_pass_count(problem) == 1) return;
  const GradientSums sums = gradient_sums(problem, tensors, layout, bytes);
  run_on_stream({sum_gradients_step(sums.dq, rows_of(problem, problem.heads)),
                 sum_gradients_step(sums.dk, rows_of(problem, problem.key_heads())),
                 sum_gradients_step(sums.dv, rows_of(problem, problem.key_heads()))},
                stream);
}

}  // namespace sparkbench
