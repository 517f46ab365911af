#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_schedules.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/launch.cuh"
#include "kernels/volta/packed_gpu.h"
#include "kernels/volta/packed_lists.h"
#include "kernels/volta/schedules.h"
#include "kernels/work_lists_gpu.h"

namespace sparkbench::volta {

SPARK_VOLTA_PACKED_FORWARD(SPARK_FORWARD_KERNEL)
SPARK_VOLTA_PACKED_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)
SPARK_VOLTA_PACKED_STATISTICS(SPARK_STATISTICS_KERNEL)
SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_ROUND_DQ_KERNEL)

namespace {

template <class Config, class Params>
void launch_items(const Params& params, int blocks_of_item, int items, std::size_t shared_bytes,
                  CUstream_st* stream) {
  if (items == 0) return;
  const auto grid = packed_grid(blocks_of_item, items);
  launch<Config>(params, {grid[0], grid[1], grid[2]}, shared_bytes, stream);
}

}  // namespace

void launch_packed_forward(ForwardAccumulators accumulators, const Problem& packed,
                           const PackedLengths& lengths, const ForwardTensors& tensors,
                           void* workspace, CUstream_st* stream) {
  check_packed(packed, lengths);
  ForwardParams params = forward_params(packed, tensors);
  const Wanted wanted{packed, shared_bytes_per_block()};
  visit_forward<Blocks::kPacked>(accumulators, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const WorkListParams list = work_list(packed, lengths, kForwardList<Config>, workspace);
    launch_lists(list, {}, stream);
    params.items = list.items;
    launch_items<Config>(params, packed.heads, list.items_end, sizeof(ForwardTiles<Config>),
                         stream);
  });
}

void launch_packed_backward(Accumulator accumulator, const Problem& packed,
                            const PackedLengths& lengths, const BackwardTensors& tensors,
                            void* workspace, bool is_deterministic, CUstream_st* stream) {
  check_packed(packed, lengths);
  const Wanted wanted{packed, shared_bytes_per_block()};
  const Problem rows = workspace_problem(packed, lengths.batch);
  auto* const memory = static_cast<unsigned char*>(workspace);
  BackwardParams params{};
  int queries = 0;
  visit_backward<Blocks::kPacked>(
      accumulator, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
        using Config = decltype(row);
        const PackedBackwardLayout layout(packed, lengths.batch, kKeyList<Config>,
                                          is_deterministic);
        const WorkListParams query_list = work_list(packed, lengths, kQueryList, memory);
        const WorkListParams key_list =
            work_list(packed, lengths, kKeyList<Config>, memory + layout.query_bytes);
        launch_lists(query_list, key_list, stream);
        params =
            backward_params(packed, tensors,
                            lay_out_workspace(rows, memory + layout.query_bytes + layout.key_bytes,
                                              is_deterministic));
        params.query_items = query_list.items;
        params.key_items = key_list.items;
        queries = query_list.items_end;
        visit_statistics<Blocks::kPacked>(
            accumulator, wanted, [&](auto statistics_row, auto /*id*/) {
              using Statistics = decltype(statistics_row);
              launch_items<Statistics>(params, packed.heads * kBlocksOfItem<Statistics>, queries, 0,
                                       stream);
            });
        if (!is_deterministic && queries > 0) {
          CUDA_CHECK(
              cudaMemsetAsync(params.workspace.dq_sums, 0, dq_sums_bytes(rows, false), stream));
        }
        launch_items<Config>(params, packed.key_heads(), key_list.items_end,
                             sizeof(BackwardTiles<Config>), stream);
      });
  if (is_deterministic) {
    visit_backward_dq<Blocks::kPacked>(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch_items<Config>(params, packed.heads * kBlocksOfItem<Config>, queries,
                           sizeof(BackwardDqTiles<Config>), stream);
    });
  } else {
    visit_round_dq<Blocks::kPacked>(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch_items<Config>(params, packed.heads * kBlocksOfItem<Config>, queries,
                           sizeof(RoundDqTiles<Config>), stream);
    });
  }
}

}  // namespace sparkbench::volta
