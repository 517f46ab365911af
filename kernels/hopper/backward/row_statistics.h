// bwd preprocess: what the backward kernels need of each query, prepared once: how to recompute its
// probabilities from scores, and D = rowsum(dO * O).
#pragma once

#include "kernels/base/half.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/tile/row_dot.h"

namespace sparkbench::hopper {

struct StatisticsConfig {
  using Element = Half;
  static constexpr int kThreads = 128, kLanesPerRow = 8, kBlockM = kThreads / kLanesPerRow;
  static constexpr int kBlocksPerSm = 0;  // as many as the registers allow
};

/// The query at a position.
struct PositionOfQuery {
  int token;  // in the tensors
  bool is_inside;
};
template <class Machine>
SPARK_DEVICE PositionOfQuery query_at(Machine& machine, const BackwardParams& params,
                                      int position) {
  if (params.cu_seqlens_q == nullptr) return {position, position < params.mask.seqlen_q};
  const auto first = [&](int sequence) {
    const int of_sequence = machine.template load_global<int>(params.cu_seqlens_q + sequence);
    return most_of(0, least_of(of_sequence, params.mask.seqlen_q));
  };
  // The last sequence whose positions begin here or before. It exists: the first begins at 0.
  int sequence = 0;
  for (int end = params.sequences; end - sequence > 1;) {
    const int middle = (sequence + end) / 2;
    if (packed_statistics(first(middle), middle) <= position) {
      sequence = middle;
    } else {
      end = middle;
    }
  }
  const int of_first = first(sequence);
  const int token = of_first + position - packed_statistics(of_first, sequence);
  return {token, token >= of_first && token < first(sequence + 1)};
}

/// The statistics of every position; those past the end make P zero.
/// Grid: blocks of kBlockM positions, heads, batch entries.
template <class Config, class Machine>
SPARK_DEVICE void prepare_statistics(Machine& machine, const BackwardParams& params) {
  const int head = machine.block(1), batch = machine.block(2);
  const int position = machine.block(0) * Config::kBlockM + machine.thread() / 8;
  const auto [token, is_inside] = query_at(machine, params, position);
  const float delta = row_dot<typename Config::Element>(machine, params.out.at(batch, token, head),
                                                        params.d_o.at(batch, token, head),
                                                        is_inside ? params.head_chunks : 0);
  if (machine.lane() % Config::kLanesPerRow != 0) return;
  const RowStatistics of_row =
      is_inside ? row_statistics<PlainProbabilities>(
                      machine.template load_global<float>(
                          params.out_lse +
                          lse_offset(batch, head, token, params.heads, params.mask.seqlen_q)),
                      delta, params.dropout.keep_scale)
                : RowStatistics{-INFINITY, 0.0f};
  const auto batch_head = static_cast<std::uint32_t>(batch * params.heads + head);
  StatisticsTile& tile = params.statistics[params.query_tile(batch_head, position)];
  const int place = StatisticsTile::place(position % StatisticsTile::kRows);
  machine.store_global(&tile.offset[place], of_row.offset);
  machine.store_global(&tile.delta[place], of_row.delta);
}

}  // namespace sparkbench::hopper
