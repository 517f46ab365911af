#include "kernels/varlen/work_lists_gpu.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/launch.cuh"
#include "kernels/volta/packed_gpu.h"
#include "kernels/volta/packed_lists.h"

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

/// The parameters of a backward pass whose kernel of dK and dV has this configuration. Its lists
/// are made and its statistics are there for what is launched behind.
template <class Config>
BackwardParams prepare_backward(Accumulator accumulator, const Wanted& wanted,
                                const PackedLengths& lengths, const BackwardTensors& tensors,
                                void* workspace, bool is_deterministic, CUstream_st* stream) {
  const Problem& packed = wanted.problem;
  const PackedBackwardLayout layout(packed, lengths.batch, kKeyList<Config>, is_deterministic);
  auto* const memory = static_cast<unsigned char*>(workspace);
  unsigned char* const rows = memory + layout.query_bytes + layout.key_bytes;
  const WorkListParams queries = work_list(packed, lengths, kQueryList, memory);
  const WorkListParams keys =
      work_list(packed, lengths, kKeyList<Config>, memory + layout.query_bytes);
  launch_lists(queries, keys, stream);
  BackwardParams params = backward_params(
      packed, tensors,
      lay_out_workspace(workspace_problem(packed, lengths.batch), rows, is_deterministic));
  params.query_items = queries.items;
  params.key_items = keys.items;
  visit_statistics<Blocks::kPacked>(accumulator, wanted, [&](auto row, auto /*id*/) {
    using Statistics = decltype(row);
    launch_items<Statistics>(params, packed.heads * kBlocksOfItem<Statistics>, queries.items_end, 0,
                             stream);
  });
  return params;
}

template <class Config>
void launch_key_gradients(const BackwardParams& params, const Wanted& wanted, int batch,
                          CUstream_st* stream) {
  launch_items<Config>(params, wanted.problem.key_heads(),
                       work_items(wanted.problem, batch, kKeyList<Config>),
                       sizeof(BackwardTiles<Config>), stream);
}

}  // namespace

void launch_packed_forward(Accumulator accumulator, const Problem& packed,
                           const PackedLengths& lengths, const ForwardTensors& tensors,
                           void* workspace, CUstream_st* stream) {
  check_packed(packed, lengths);
  ForwardParams params = forward_params(packed, tensors);
  const Wanted wanted{packed, shared_bytes_per_block()};
  visit_forward<Blocks::kPacked>(accumulator, wanted, [&](auto row, auto /*id*/) {
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
  const int queries = work_items(packed, lengths.batch, kQueryList);
  BackwardParams params{};
  visit_backward<Blocks::kPacked>(
      accumulator, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
        params = prepare_backward<decltype(row)>(accumulator, wanted, lengths, tensors, workspace,
                                                 is_deterministic, stream);
        if (!is_deterministic && queries > 0) {
          const Problem rows = workspace_problem(packed, lengths.batch);
          CUDA_CHECK(
              cudaMemsetAsync(params.workspace.dq_sums, 0, dq_sums_bytes(rows, false), stream));
        }
        launch_key_gradients<decltype(row)>(params, wanted, lengths.batch, stream);
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
