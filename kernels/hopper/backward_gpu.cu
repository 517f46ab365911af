#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/merge_steps.h"
#include "kernels/hopper/backward/carried_kernel.h"
#include "kernels/hopper/backward/dq_kernel.h"
#include "kernels/hopper/backward/kernel.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/backward_gpu.h"
#include "kernels/hopper/backward_workspace.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/launch.cuh"
#include "kernels/hopper/packed_workspace.h"
#include "kernels/launch/run_gpu.h"
#include "kernels/machine/tensor_copy/tensor_map_gpu.h"
#include "kernels/varlen/list_step.h"

namespace sparkbench::hopper {

SPARK_HOPPER_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_BACKWARD_SUMS(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_BACKWARD_CARRIED(SPARK_HOPPER_BACKWARD_CARRIED_KERNEL)
SPARK_HOPPER_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)
SPARK_HOPPER_SPARSE_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)

extern "C" __global__ void __launch_bounds__(StatisticsConfig::kThreads)
    hopper_fp32acc_bwd_statistics(const __grid_constant__ BackwardParams params) {
  GpuMachine machine;
  prepare_statistics(machine, params);
}

extern "C" __global__ void __launch_bounds__(RoundDqConfig::kThreads)
    hopper_fp32acc_bwd_round_dq(const __grid_constant__ BackwardParams params, int columns) {
  GpuMachine machine;
  round_dq(machine, params, columns);
}

namespace {

void launch_statistics(const Problem& problem, const BackwardParams& params, CUstream_st* stream) {
  if (params.rows_per_head == 0 || problem.batch == 0) return;
  hopper_fp32acc_bwd_statistics<<<grid_of(params.rows_per_head / StatisticsConfig::kBlockM,
                                          problem.heads, problem.batch),
                                  StatisticsConfig::kThreads, 0, stream>>>(params);
  CUDA_CHECK(cudaGetLastError());
}

void launch_round_dq(const Problem& problem, const BackwardParams& params, int columns,
                     CUstream_st* stream) {
  if (params.rows_per_head == 0 || problem.batch == 0) return;
  hopper_fp32acc_bwd_round_dq<<<grid_of(params.rows_per_head / kWarpgroupRows, problem.heads,
                                        problem.batch),
                                RoundDqConfig::kThreads, 0, stream>>>(params, columns);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                     DqForm dq, CUstream_st* stream) {
  const BackwardWorkspace places = dense_workspace(problem, dq);
  BackwardParams params =
      backward_params(problem, tensors, in_workspace<StatisticsTile>(workspace, places.statistics),
                      statistics_rows(problem.seqlen_q), encode_tensor_map);
  launch_statistics(problem, params, stream);
  const ItemOrder order = item_order(params.mask, problem.head_dim);
  const Items items = are_items_alike(params.mask) ? Items::kOfAllSms : Items::kOneABlock;
  const auto launch_keys = [&](auto row) {
    using Config = decltype(row);
    const int tiles = ceil_divide(problem.seqlen_k, Config::kBlockKeys);
    launch_items<Config>(
        params, items_of<Config>(tiles, problem.key_heads(), problem.batch, items, order), stream);
  };
  if (dq == DqForm::kSummed) {
    params.dq_sums = in_workspace<float>(workspace, places.dq_sums);
    CUDA_CHECK(cudaMemsetAsync(params.dq_sums, 0, places.sums_bytes, stream));
    visit_backward_sums<Blocks::kDense>(problem, [&](auto row, auto /*id*/) {
      launch_keys(row);
      launch_round_dq(problem, params, decltype(row)::kHeadDim, stream);
    });
    return;
  }
  if (dq == DqForm::kCarried) {
    visit_backward_carried(problem, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      const int tiles = tiles_of_keys(params.mask);
      const int runs = runs_of_head(tiles, problem.heads * problem.batch,
                                    least_of(tiles_of_band(params.mask), tiles) - 1,
                                    count_sms() * Config::kBlocksPerSm);
      launch_items<Config>(params, items_of_runs<Config>(runs, problem.heads, problem.batch),
                           stream);
    });
    return;
  }
  visit_backward<Blocks::kDense>(problem, [&](auto row, auto /*id*/) { launch_keys(row); });
  visit_backward_dq<Blocks::kDense>(problem, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const int tiles = ceil_divide(problem.seqlen_q, Config::kBlockM);
    launch_items<Config>(
        params, items_of<Config>(tiles, problem.heads, problem.batch, items, order), stream);
  });
}

void launch_sparse_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                            const PatternLists& lists, int first, const void* memory,
                            CUstream_st* stream) {
  const Problem dense = without_pattern(problem);
  const SparseTileLists &of_keys = lists[first], &of_queries = lists[first + 1];
  const int key_rows = of_keys.part_rows(), query_rows = of_queries.part_rows();
  const BackwardWorkspace places(dense, problem.seqlen_q, 0, key_rows, query_rows);
  BackwardParams params =
      backward_params(dense, tensors, in_workspace<StatisticsTile>(workspace, places.statistics),
                      problem.seqlen_q, encode_tensor_map);
  give_key_parts(params, dense, key_rows, in_workspace<Half>(workspace, places.dk),
                 in_workspace<Half>(workspace, places.dv));
  give_query_parts(params, dense, query_rows, in_workspace<Half>(workspace, places.dq));
  params.sparse = lists.at(first + 1, memory);
  launch_statistics(dense, params, stream);
  const auto sum = [&](int list, int block_rows, int seqlen, int rows_of_parts, int heads,
                       const ChunkedView<Half>& part, const ChunkedView<Half>& whole) {
    const SplitRows rows{lists.splits_at(list, memory), block_rows, seqlen, rows_of_parts};
    const RowsOfHeads split{static_cast<int>(lists[list].splits().size()) * block_rows, heads,
                            problem.batch};
    run_on_stream({sum_parts_step(sum_parts_params(rows, params.head_chunks, part, whole), split)},
                  stream);
  };
  visit_backward_dq<Blocks::kSparse>(dense, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch_items<Config>(params,
                         items_of<Config>(problem.heads, of_queries.blocks_of_head(), problem.batch,
                                          Items::kOfAllSms),
                         stream);
    if (query_rows == 0) return;
    sum(first + 1, Config::kBlockM, problem.seqlen_q, query_rows, problem.heads, params.part_dq,
        params.dq);
  });
  params.sparse = lists.at(first, memory);
  visit_backward<Blocks::kSparse>(dense, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch_items<Config>(params,
                         items_of<Config>(problem.key_heads(), of_keys.blocks_of_head(),
                                          problem.batch, Items::kOfAllSms),
                         stream);
    if (key_rows == 0) return;
    sum(first, Config::kBlockKeys, problem.seqlen_k, key_rows, problem.key_heads(), params.part_dk,
        params.dk);
    sum(first, Config::kBlockKeys, problem.seqlen_k, key_rows, problem.key_heads(), params.part_dv,
        params.dv);
  });
}

void launch_packed_backward(const Problem& packed, const PackedLengths& lengths,
                            const BackwardTensors& tensors, void* workspace, DqForm dq,
                            CUstream_st* stream) {
  check_packed(packed, lengths);
  if (lengths.batch == 0) return;
  const PackedBackwardWorkspace places(packed, lengths.batch, dq);
  BackwardParams params = packed_backward_params(
      packed, lengths, tensors, in_workspace<StatisticsTile>(workspace, places.statistics),
      encode_tensor_map);
  launch_statistics(packed, params, stream);
  const auto list = [&](const WorkListKind& kind, std::uint64_t place) {
    return work_list(packed, lengths, kind, in_workspace<unsigned char>(workspace, place));
  };
  const auto launch_listed = [&](auto row, int heads, const WorkListParams& of) {
    params.items = of.items;
    launch_list<decltype(row)>(params, heads, of.items_end, stream);
  };
  if (dq == DqForm::kSummed) {
    params.dq_sums = in_workspace<float>(workspace, places.dq_sums);
    CUDA_CHECK(cudaMemsetAsync(params.dq_sums, 0, places.sums_bytes, stream));
    visit_backward_sums<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      const WorkListParams keys = list(kPackedKeys<Config>, places.keys);
      run_on_stream(list_steps(keys, {}), stream);
      launch_listed(row, packed.key_heads(), keys);
      launch_round_dq(packed, params, Config::kHeadDim, stream);
    });
    return;
  }
  visit_backward_dq<Blocks::kPacked>(packed, [&](auto query_row, auto /*id*/) {
    visit_backward<Blocks::kPacked>(packed, [&](auto key_row, auto /*of_keys*/) {
      const WorkListParams queries = list(kPackedQueries<decltype(query_row)>, places.queries),
                           keys = list(kPackedKeys<decltype(key_row)>, places.keys);
      run_on_stream(list_steps(queries, keys), stream);
      launch_listed(key_row, packed.key_heads(), keys);
      launch_listed(query_row, packed.heads, queries);
    });
  });
}

}  // namespace sparkbench::hopper
