#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/launch.cuh"

namespace sparkbench::volta {

SPARK_VOLTA_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_BACKWARD_RELAY(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)
SPARK_VOLTA_STATISTICS(SPARK_STATISTICS_KERNEL)
SPARK_VOLTA_ROUND_DQ(SPARK_ROUND_DQ_KERNEL)

namespace {

BlockCounts blocks_of_queries(const Problem& problem, int rows, int rows_of_block) {
  return {ceil_divide(rows, rows_of_block), problem.heads, problem.batch};
}

/// Of a problem that has_relay(). False where the GPU has no room for its blocks.
bool launch_backward_relay(Accumulator accumulator, const Problem& problem,
                           const BackwardTensors& tensors, void* workspace, CUstream_st* stream) {
  BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, false));
  params.relay = lay_out_relay(problem, workspace);
  return visit_backward_relay(
      accumulator, {problem, shared_bytes_per_block()}, [&](auto row, auto) {
        using Config = decltype(row);
        if (params.relay.prepares_statistics) {
          CUDA_CHECK(cudaMemsetAsync(params.workspace.statistics, kUnpublishedByte,
                                     statistics_bytes(problem), stream));
        } else {
          launch_statistics(accumulator, problem, params, stream);
        }
        CUDA_CHECK(cudaMemsetAsync(params.relay.turns, 0, relay_turns_bytes(problem), stream));
        launch<Config>(params, {params.relay.key_blocks, problem.key_heads(), problem.batch},
                       sizeof(BackwardTiles<Config>), stream);
      });
}

}  // namespace

void launch_statistics(Accumulator accumulator, const Problem& problem,
                       const BackwardParams& params, CUstream_st* stream) {
  const Wanted wanted{problem, shared_bytes_per_block()};
  visit_statistics(accumulator, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch<Config>(params,
                   blocks_of_queries(problem, workspace_rows(problem.seqlen_q), Config::kBlockM), 0,
                   stream);
  });
}

void launch_round_dq(Accumulator accumulator, const Problem& problem, const BackwardParams& params,
                     CUstream_st* stream) {
  const Wanted wanted{problem, shared_bytes_per_block()};
  visit_round_dq(accumulator, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch<Config>(params, blocks_of_queries(problem, problem.seqlen_q, Config::kBlockM),
                   sizeof(RoundDqTiles<Config>), stream);
  });
}

void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream) {
  if (has_relay(problem, is_deterministic) &&
      launch_backward_relay(accumulator, problem, tensors, workspace, stream)) {
    return;
  }
  const BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, is_deterministic));
  const Wanted wanted{problem, shared_bytes_per_block()};
  launch_statistics(accumulator, problem, params, stream);
  if (!is_deterministic) {
    CUDA_CHECK(cudaMemsetAsync(params.workspace.dq_sums, 0,
                               dq_sums_bytes(problem, is_deterministic), stream));
  }
  visit_backward(accumulator, !is_deterministic, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    const int blocks = ceil_divide(problem.seqlen_k, Config::kBlockKeys);
    launch<Config>(params, {blocks, problem.key_heads(), problem.batch},
                   sizeof(BackwardTiles<Config>), stream);
  });
  if (is_deterministic) {
    visit_backward_dq(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch<Config>(params, blocks_of_queries(problem, problem.seqlen_q, Config::kBlockM),
                     sizeof(BackwardDqTiles<Config>), stream);
    });
  } else {
    launch_round_dq(accumulator, problem, params, stream);
  }
}

}  // namespace sparkbench::volta
