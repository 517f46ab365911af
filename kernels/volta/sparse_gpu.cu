#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_schedules.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/launch.cuh"
#include "kernels/volta/schedules.h"
#include "kernels/volta/sparse_gpu.h"
#include "kernels/volta/sparse_kinds.h"

namespace sparkbench::volta {

SPARK_VOLTA_SPARSE_FORWARD(SPARK_FORWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)

void launch_sparse_forward(ForwardAccumulators accumulators, const Problem& problem,
                           const ForwardTensors& tensors, const PatternLists& lists, int first,
                           const void* memory, CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  ForwardParams params = forward_params(dense, tensors);
  params.sparse = lists.at(first, memory);
  const Wanted wanted{dense, shared_bytes_per_block()};
  visit_forward<Blocks::kSparse>(accumulators, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch<Config>(params, {problem.heads, lists[first].blocks_of_head(), problem.batch},
                   sizeof(ForwardTiles<Config>), stream);
  });
}

void launch_sparse_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, int first, const void* memory,
                            bool is_deterministic, CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  BackwardParams params =
      backward_params(dense, tensors, lay_out_workspace(dense, workspace, is_deterministic));
  params.sparse_keys = lists.at(first, memory);
  if (is_deterministic) params.sparse_queries = lists.at(first + 1, memory);
  const Wanted wanted{dense, shared_bytes_per_block()};
  launch_statistics(accumulator, dense, params, stream);
  if (!is_deterministic) {
    CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sums, 0, dq_sums_bytes(dense, false), stream));
  }
  visit_backward<Blocks::kSparse>(accumulator, !is_deterministic, wanted, [&](auto row, auto) {
    using Config = decltype(row);
    params.walk = walk_of_lists<Config>(lists[first], 0, problem.group_size());
    launch<Config>(params, {problem.key_heads(), lists[first].blocks_of_head(), problem.batch},
                   sizeof(BackwardTiles<Config>), stream);
  });
  if (is_deterministic) {
    visit_backward_dq<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch<Config>(params, {problem.heads, lists[first + 1].blocks_of_head(), problem.batch},
                     sizeof(BackwardDqTiles<Config>), stream);
    });
  } else {
    launch_round_dq(accumulator, dense, params, stream);
  }
}

}  // namespace sparkbench::volta
