// The bwd preprocess and postprocess kernels: each query's statistics before the products, and dQ
// from its FP32 sums to fp16 after them.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/volta/backward/queries.h"
#include "kernels/volta/backward/query_statistics.h"
#include "kernels/volta/backward/rows_config.h"

namespace sparkbench::volta {

/// The statistics of every row of the workspace; those past the end make P zero.
template <class Config, class Machine>
SPARK_DEVICE void prepare_statistics(Machine& machine, const BackwardParams& params) {
  if (!WalkOf<Config>::has_work(machine, params.query_items)) return;
  const int seqlen_q = mask_of_queries<Config>(machine, params).seqlen_q;
  const QueryBlock block = locate_queries<Config>(machine, params);
  const int head = block.head, batch = block.batch;
  const int first_row = block.first_row + kGridRows * machine.warp();
  RowStatistics* const statistics =
      params.workspace.statistics_of(block.workspace_head(params), block.workspace_row + first_row);
  StagedStatistics<Config> staged;
  staged.load(
      machine, params, batch, head, [&](int row) { return first_row + row < seqlen_q; },
      [&](int row) { return block.first_q + first_row + row; });
  staged.finish(machine, params,
                [&](int at, const Bits64& bits) { machine.store_global(statistics + at, bits); });
}

/// dq = fp16(scale * dq_sums / (1 - dropout_p)). Sums of columns past head_dim do not exist, or are
/// zeros.
template <class Config, class Machine>
SPARK_DEVICE void round_dq(Machine& machine, const BackwardParams& params) {
  constexpr int kHeadDim = Config::kHeadDim;
  if (!WalkOf<Config>::has_work(machine, params.query_items)) return;
  const int seqlen_q = mask_of_queries<Config>(machine, params).seqlen_q;
  const QueryBlock block = locate_queries<Config>(machine, params);
  const int first_row = block.first_row + kGridRows * machine.warp();
  const float* const sums =
      params.workspace.dq_sums_of(block.workspace_head(params), block.workspace_row + first_row,
                                  sum_columns(params.head_chunks), 0) +
      machine.lane();
  AccumulatorFragment<Accumulator::kFp32> dq[kHeadDim / kGridColumns] = {};
#pragma unroll
  for (int group = 0; group < kHeadDim / kGridColumns; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (sum_chunk(machine.lane(), group / 2, i) >= params.head_chunks) continue;
      dq[group].element[i] = machine.template load_global<float>(sums + 32 * (8 * group + i));
    }
  }
  float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
#pragma unroll
  for (float& value : factor)
    value = SPARK_PLANTED(kDqNotScaled, params.scale, 1.0f) * params.dropout.keep_scale;
  OutputTile<kHeadDim>& tile =
      machine.template shared<RoundDqTiles<Config>>().of_warp[machine.warp()];
  store_output<Config::kAccumulator>(machine, tile, factor, dq);
  machine.sync_warp();
  write_rows(machine, tile,
             OutputRows{params.dq.at(block.batch, block.first_q + first_row, block.head),
                        params.dq.row_stride(), seqlen_q - first_row, params.head_chunks});
}

}  // namespace sparkbench::volta
