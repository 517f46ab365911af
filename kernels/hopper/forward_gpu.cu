#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/forward/kernel.h"
#include "kernels/hopper/forward_gpu.h"
#include "kernels/hopper/launch.cuh"
#include "kernels/launch/run_gpu.h"
#include "kernels/machine/tensor_copy/tensor_map_gpu.h"
#include "kernels/varlen/list_step.h"

namespace sparkbench::hopper {

SPARK_HOPPER_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_RUNS_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_SPARSE_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_PACKED_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)

void launch_forward(const Problem& problem, const ForwardTensors& tensors, RowForm form,
                    CUstream_st* stream) {
  LaunchParams params = launch_params(problem, tensors, encode_tensor_map);
  const ItemOrder order = item_order(params.mask, problem.head_dim);
  const Items items = are_items_alike(params.mask) ? Items::kOfAllSms : Items::kOneABlock;
  visit_forward(problem, form, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const int blocks = ceil_divide(problem.seqlen_q, Config::kBlockM);
    if constexpr (Config::kHasRuns) {
      const int runs =
          runs_of_rows(blocks, problem.heads * problem.batch, count_sms() * Config::kBlocksPerSm);
      launch_items<Config>(params, items_of_runs<Config>(runs, problem.heads, problem.batch),
                           stream);
    } else {
      launch_items<Config>(
          params, items_of<Config>(blocks, problem.heads, problem.batch, items, order), stream);
    }
  });
}

void launch_sparse_forward(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                           const PatternLists& lists, int first, const void* memory,
                           CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  const int part_rows = lists[first].part_rows();
  DeviceWorkspace own(workspace);
  const ForwardParts parts = take_forward_parts(dense, part_rows, own);
  LaunchParams params = launch_params(dense, tensors, encode_tensor_map);
  params.sparse = lists.at(first, memory);
  give_parts(params, dense, part_rows, parts.o, parts.lse);
  visit_forward<Blocks::kSparse>(dense, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch_items<Config>(params,
                         items_of<Config>(problem.heads, lists[first].blocks_of_head(),
                                          problem.batch, Items::kOfAllSms),
                         stream);
    if (part_rows == 0) return;
    const int rows = static_cast<int>(lists[first].splits().size()) * Config::kBlockM;
    run_on_stream(
        {merge_parts_step(merge_parts_params(params, problem.seqlen_q,
                                             lists.splits_at(first, memory), Config::kBlockM),
                          {rows, problem.heads, problem.batch})},
        stream);
  });
}

void launch_packed_forward(const Problem& packed, const PackedLengths& lengths,
                           const ForwardTensors& tensors, void* workspace, CUstream_st* stream) {
  check_packed(packed, lengths);
  LaunchParams params = launch_params(packed, tensors, encode_tensor_map);
  visit_forward<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const WorkListParams list = work_list(packed, lengths, kPackedQueries<Config>, workspace);
    run_on_stream(list_steps(list, {}), stream);
    params.items = list.items;
    launch_list<Config>(params, packed.heads, list.items_end, stream);
  });
}

}  // namespace sparkbench::hopper
