#include "kernels/block_sparse/merge_gpu.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/launch.cuh"
#include "kernels/volta/sparse_gpu.h"
#include "kernels/volta/sparse_kinds.h"
#include "kernels/volta/sparse_parts.h"

namespace sparkbench::volta {

SPARK_VOLTA_SPARSE_FORWARD(SPARK_FORWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)

namespace {

/// Rows that parts of a launch share.
RowsOfHeads split_rows(const Problem& problem, const SparseTileLists& lists, int block_rows,
                       int heads) {
  return {static_cast<int>(lists.splits().size()) * block_rows, heads, problem.batch};
}

/// dK and dV, and dQ as the configuration has it.
template <class Config>
void launch_keys(BackwardParams params, const Problem& problem, const SparseTileLists& lists,
                 CUstream_st* stream) {
  params.walk = walk_of_lists<Config>(lists, 0, problem.group_size());
  launch<Config>(params, {problem.key_heads(), lists.blocks_of_head(), problem.batch},
                 sizeof(BackwardTiles<Config>), stream);
}

}  // namespace

void launch_sparse_forward(Accumulator accumulator, const Problem& problem,
                           const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, int first, const void* memory,
                           CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  const int part_rows = lists[first].part_rows();
  const ForwardPartsWorkspace parts(dense, part_rows);
  ForwardParams params = forward_params(dense, tensors);
  params.sparse = lists.at(first, memory);
  give_parts(params, dense, part_rows, in_workspace<Half>(workspace, parts.o),
             in_workspace<float>(workspace, parts.lse));
  const Wanted wanted{dense, shared_bytes_per_block()};
  visit_forward<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch<Config>(params, {problem.heads, lists[first].blocks_of_head(), problem.batch},
                   sizeof(ForwardTiles<Config>), stream);
    if (part_rows == 0) return;
    launch_merge_parts(merge_parts_params(params, problem.seqlen_q, lists.splits_at(first, memory),
                                          Config::kBlockM),
                       split_rows(problem, lists[first], Config::kBlockM, problem.heads), stream);
  });
}

void launch_sparse_backward(Accumulator accumulator, const Problem& problem,
                            const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, int first, const void* memory,
                            bool is_deterministic, CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  BackwardParams params =
      backward_params(dense, tensors, lay_out_workspace(dense, workspace, is_deterministic));
  const int key_rows = lists[first].part_rows();
  const int query_rows = is_deterministic ? lists[first + 1].part_rows() : 0;
  const PartsWorkspace parts =
      PartsWorkspace::backward(dense, key_rows, query_rows, is_deterministic);
  give_key_parts(params, dense, key_rows, in_workspace<Half>(workspace, parts.dk),
                 in_workspace<Half>(workspace, parts.dv));
  give_query_parts(params, dense, query_rows, in_workspace<Half>(workspace, parts.dq));
  params.sparse_keys = lists.at(first, memory);
  if (is_deterministic) params.sparse_queries = lists.at(first + 1, memory);
  const Wanted wanted{dense, shared_bytes_per_block()};
  launch_statistics(accumulator, dense, params, stream);
  if (!is_deterministic) {
    CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sums, 0, dq_sums_bytes(dense, false), stream));
  }
  visit_backward<Blocks::kSparse>(accumulator, !is_deterministic, wanted, [&](auto row, auto) {
    using Config = decltype(row);
    launch_keys<Config>(params, problem, lists[first], stream);
    if (key_rows == 0) return;
    const SplitRows rows{lists.splits_at(first, memory), Config::kBlockKeys, problem.seqlen_k,
                         key_rows};
    const RowsOfHeads shared =
        split_rows(problem, lists[first], Config::kBlockKeys, problem.key_heads());
    launch_sum_parts(sum_parts_params(rows, params.head_chunks, params.part_dk, params.dk), shared,
                     stream);
    launch_sum_parts(sum_parts_params(rows, params.head_chunks, params.part_dv, params.dv), shared,
                     stream);
  });
  if (is_deterministic) {
    visit_backward_dq<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch<Config>(params, {problem.heads, lists[first + 1].blocks_of_head(), problem.batch},
                     sizeof(BackwardDqTiles<Config>), stream);
      if (query_rows == 0) return;
      const SplitRows rows{lists.splits_at(first + 1, memory), Config::kBlockM, problem.seqlen_q,
                           query_rows};
      launch_sum_parts(sum_parts_params(rows, params.head_chunks, params.part_dq, params.dq),
                       split_rows(problem, lists[first + 1], Config::kBlockM, problem.heads),
                       stream);
    });
  } else {
    launch_round_dq(accumulator, dense, params, stream);
  }
}

}  // namespace sparkbench::volta
