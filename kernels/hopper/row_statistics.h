// What the backward kernels ask of each query, prepared once: how its probabilities are recomputed
// from scores, and D = rowsum(dO * O).
#pragma once

#include "kernels/hopper/backward_params.h"
#include "kernels/tile/row_dot.h"

namespace sparkbench::hopper {

struct StatisticsConfig {
  static constexpr int kThreads = 128, kLanesPerRow = 8, kBlockM = kThreads / kLanesPerRow;
};

/// The statistics of every position; those past the end, or that own no token, keep P at zero. Grid:
/// blocks of kBlockM positions, heads, batch entries.
template <class Machine>
SPARK_DEVICE void prepare_statistics(Machine& machine, const BackwardParams& params) {
  const int head = machine.block(1), batch = machine.block(2);
  const int position = machine.block(0) * StatisticsConfig::kBlockM + machine.thread() / 8;
  int token = position;
  bool is_inside = position < params.mask.seqlen_q;
  if (params.query_order.tiles != nullptr) {
    const OrderedRows rows = ordered_rows(machine, params.query_order, position);
    token = rows.token;
    is_inside = rows.owns(0);
  }
  const float delta = row_dot(machine, params.out.at(batch, token, head),
                              params.d_o.at(batch, token, head),
                              is_inside ? params.head_chunks : 0);
  if (machine.lane() % StatisticsConfig::kLanesPerRow != 0) return;
  const RowStatistics of_row =
      is_inside ? row_statistics<PlainProbabilities>(
                      machine.template load_global<float>(
                          params.out_lse + lse_offset(batch, head, token, params.heads,
                                                      params.mask.seqlen_q)),
                      delta, params.dropout.keep_scale)
                : RowStatistics{-INFINITY, 0.0f};
  Bits64 bits;
  memcpy(&bits, &of_row, sizeof bits);
  const auto batch_head = static_cast<std::uint32_t>(batch * params.heads + head);
  machine.store_global(params.statistics_of(batch_head, position), bits);
}

}  // namespace sparkbench::hopper
