// bwd postprocess: dQ from its FP32 sums (dq_sums.h), scaled, and rounded once.
#pragma once

#include "kernels/base/half.h"
#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/block_plan.h"

namespace sparkbench::hopper {

/// A lane has 8 columns of two rows, 8 rows apart.
struct RoundDqConfig {
  using Element = Half;
  static constexpr int kThreads = 128, kBlockM = kWarpgroupRows;
  static constexpr int kBlocksPerSm = 0;  // as many as the registers allow
};

/// Grid: steps of 64 positions, heads, batch entries.
template <class Config, class Machine>
SPARK_DEVICE void round_dq(Machine& machine, const BackwardParams& params) {
  const int step = machine.block(0), head = machine.block(1), batch = machine.block(2);
  const auto batch_head = static_cast<std::uint32_t>(batch * params.heads + head);
  const std::size_t tile = params.query_tile(batch_head, kWarpgroupRows * step);
  const float* const sums =
      params.dq_sums + tile * static_cast<std::size_t>(kWarpgroupRows * params.sum_columns);
  const float scale = params.scale * params.dropout.keep_scale;
  constexpr int kRowPairs = kWarpgroupRows / 2;
  for (int i = machine.thread(); i < kRowPairs * params.head_chunks; i += Config::kThreads) {
    const int pair = i % kRowPairs, chunk = i / kRowPairs;
    const float* const of_pair = sums + (kRowPairs * chunk + pair) * 16;
    Bits128 row[2];
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      const auto bits = machine.template load_global<Bits128>(of_pair + 4 * lane);
      float value[4];
      memcpy(value, &bits, sizeof value);
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        row[slot].word[lane] = machine.template pack_halves<typename Config::Element>(
            value[2 * slot] * scale, value[2 * slot + 1] * scale);
      }
    }
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const int position = kWarpgroupRows * step + pair / 8 * 16 + 8 * slot + pair % 8;
      const auto [token, is_inside] =
          query_at(machine, params, SPARK_PLANTED(kDqOfNextRow, position, position ^ 1));
      if (!is_inside) continue;
      machine.store_global(params.dq.at(batch, token, head) + kChunkHalves * chunk, row[slot]);
    }
  }
}

}  // namespace sparkbench::hopper
