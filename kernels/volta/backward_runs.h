// What the kernel of dK and dV does in a run of blocks of keys (key_run.h) that it does not do
// otherwise: it keeps a ring of sums of dQ, and rounds them.
#pragma once

#include "kernels/volta/backward_config.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/key_run.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

template <class Config>
using RunOf = KeyRun<Config::kBlockKeys, Config::kStep>;

/// That of the block.
template <class Config, class Machine>
SPARK_DEVICE RunOf<Config> key_run(Machine& machine, const BackwardParams& params) {
  const int begin = params.runs.keys * machine.block(0);
  return {params.mask, begin, begin + params.runs.keys};
}

/// The sums of 16 queries and 32 of their columns, in one of the rings that lie one behind the
/// other in the workspace.
SPARK_HD float* ring_sums(const BackwardParams& params, std::uint32_t ring, int query, int columns,
                          int column_block) {
  const KeyRuns& runs = params.runs;
  const std::uint32_t row = ring * static_cast<std::uint32_t>(runs.ring_mask + 1) +
                            static_cast<std::uint32_t>(query & runs.ring_mask);
  return params.workspace.dq_sums + sum_block_offset(row / kGridRows, columns, column_block);
}

/// The ring of the block's run, of a member of the group of heads that read its keys.
template <class Machine>
SPARK_DEVICE std::uint32_t ring_of_run(Machine& machine, const BackwardParams& params, int member) {
  const int head = machine.block(2) * params.runs.key_heads + machine.block(1);
  const int run = head * params.runs.of_head + machine.block(0);
  return static_cast<std::uint32_t>(run * params.groups.size + member);
}

/// The first of the sums of all columns of 16 queries.
template <class Config, class Machine>
SPARK_DEVICE float* sums_of_run(Machine& machine, const BackwardParams& params, int member,
                                int row) {
  return ring_sums(params, ring_of_run(machine, params, member), row, Config::kHeadDim, 0);
}

/// A warp's share of a step's sums.
template <class Config, class Machine>
SPARK_DEVICE void clear_run_sums(Machine& machine, const BackwardParams& params, int member,
                                 int query, int warp_of_team) {
  constexpr int kFloats = Config::kStep * Config::kHeadDim / Config::kTeamWarps;
  constexpr int kAtOnce = 32 * sizeof(Bits128) / sizeof(float);
  float* const sums = sums_of_run<Config>(machine, params, member, query) + kFloats * warp_of_team +
                      kAtOnce / 32 * machine.lane();
#pragma unroll
  for (int i = 0; i < kFloats / kAtOnce; ++i) machine.store_global(sums + kAtOnce * i, Bits128{});
}

/// Sums of 16 queries.
template <class Config>
using RunDq = AccumulatorFragment<Accumulator::kFp32>[Config::kHeadDim / kGridColumns];

/// Zeros of rows that are not wanted: what a branch loads costs more registers.
template <class Config, class Machine>
SPARK_DEVICE void load_run_dq(Machine& machine, const BackwardParams& params, int member, int row,
                              bool is_wanted, RunDq<Config>& dq) {
  const float* const sums = sums_of_run<Config>(machine, params, member, row) + machine.lane();
#pragma unroll
  for (int i = 0; i < Config::kHeadDim / 2; ++i) {
    dq[i / 8].element[i % 8] =
        is_wanted ? machine.template load_global<float>(sums + 32 * i) : 0.0f;
  }
}

/// dq = fp16(scale * sums / (1 - dropout_p)), of all heads that read the keys, a warp 16 rows at a
/// time, of which `dq` has the first.
template <class Config, class Output, class Machine>
SPARK_DEVICE void write_run_dq(Machine& machine, const BackwardParams& params, const Range& rows,
                               Output& tile, RunDq<Config>& dq) {
  float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
#pragma unroll
  for (float& value : factor) value = params.scale * params.dropout.keep_scale;
  const int first_row = rows.begin + kGridRows * machine.warp();
#pragma unroll 1
  for (int member = 0; member < params.groups.size; ++member) {
    const int head = machine.block(1) * params.groups.size + member;
#pragma unroll 1
    for (int row = first_row; row < rows.end; row += kGridRows * Config::kWarps) {
      if (member != 0 || row != first_row) {
        load_run_dq<Config>(machine, params, member, row, true, dq);
      }
      store_output<Config::kAccumulator>(machine, tile, factor, dq);
      machine.sync_warp();
      write_rows(machine, tile,
                 OutputRows{params.dq.at(machine.block(2), row, head), params.dq.row_stride(),
                            params.mask.seqlen_q - row, params.head_chunks});
      machine.sync_warp();
    }
  }
}

}  // namespace sparkbench::volta
