#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_schedules.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/launch.cuh"

namespace sparkbench::volta {

SPARK_VOLTA_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)
SPARK_VOLTA_STATISTICS(SPARK_STATISTICS_KERNEL)
SPARK_VOLTA_ROUND_DQ(SPARK_ROUND_DQ_KERNEL)

void launch_backward(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                     CUstream_st* stream) {
  const BackwardParams params =
      backward_params(problem, tensors, lay_out_workspace(problem, workspace, is_deterministic));
  const Wanted wanted{problem, shared_bytes_per_block()};
  const auto of_queries = [&](int rows, int rows_of_block) {
    return BlockCounts{ceil_divide(rows, rows_of_block), problem.heads, problem.batch};
  };
  visit_statistics(accumulator, wanted, [&](auto row, auto /*id*/) {
    using Config = decltype(row);
    launch<Config>(params, of_queries(workspace_rows(problem.seqlen_q), Config::kBlockM), 0,
                   stream);
  });
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
      launch<Config>(params, of_queries(problem.seqlen_q, Config::kBlockM),
                     sizeof(BackwardDqTiles<Config>), stream);
    });
  } else {
    visit_round_dq(accumulator, wanted, [&](auto row, auto /*id*/) {
      using Config = decltype(row);
      launch<Config>(params, of_queries(problem.seqlen_q, Config::kBlockM),
                     sizeof(RoundDqTiles<Config>), stream);
    });
  }
}

}  // namespace sparkbench::volta
