// The launch parameters of the Hopper backward kernels: the same on a GPU and on the emulated
// machine.
//
// The dK/dV kernel goes over blocks of keys. dQ has a kernel of its own, over blocks of queries as
// in the forward pass, or the dK/dV kernel adds it up in FP32 sums (dq_form.h).
#pragma once

#include "kernels/base/round_up.h"
#include "kernels/hopper/launch_params.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// RowStatistics of 64 queries. A lane of the dK/dV kernel has two queries of each eight; its
/// values of sixteen are adjacent.
struct alignas(16) StatisticsTile {
  static constexpr int kRows = 64;
  float offset[kRows], delta[kRows];

  /// Index of a query.
  SPARK_HD static constexpr int place(int query) {
    return query / 16 * 16 + query % 8 / 2 * 4 + query / 8 % 2 * 2 + query % 2;
  }
  /// Index of a lane's four queries among 16 * pair to 16 * pair + 15: two of the first eight, two
  /// of the others.
  SPARK_HD static constexpr int place_of_lane(int pair, int lane) {
    return 16 * pair + 4 * (lane % 4);
  }
};

/// A sequence's rows are rounded up to this in the workspace, so that the kernels' steps of queries
/// are whole. For a pattern, whose steps are shorter, to StatisticsTile::kRows.
inline constexpr int kPositionBlock = 128;
SPARK_HD constexpr int statistics_rows(int seqlen_q) {
  return (seqlen_q + kPositionBlock - 1) / kPositionBlock * kPositionBlock;
}

/// First row of statistics of a varlen sequence that begins at first_q: a multiple of the block,
/// after the sequences before.
SPARK_HD constexpr int packed_statistics(int first_q, int sequence) {
  return (first_q + kPositionBlock * sequence) / kPositionBlock * kPositionBlock;
}
/// Rows of statistics of all sequences, which have total_q rows together.
SPARK_HD constexpr int packed_positions(int total_q, int sequences) {
  return statistics_rows(total_q + kPositionBlock * sequences);
}

/// In addition to a forward pass's parameters: `sparse` has the lists of the launch's blocks, of
/// queries or of keys.
struct BackwardParams : LaunchParams {
  ChunkedView<const Bits16> out, d_o;  // O of the forward pass
  const float* out_lse;
  ChunkedView<Bits16> dq, dk, dv;
  ChunkedView<Bits16> part_dq, part_dk, part_dv;
  /// [batch * heads, rows_per_head / 64]
  StatisticsTile* statistics;
  int rows_per_head;
  /// FP32 sums of dQ before scaling, [batch * heads, rows_per_head / 64]. Each 64 queries are in
  /// the order of a warpgroup's lanes: 8 columns after the other, 16 bytes per lane. Null if a
  /// kernel of its own forms dQ.
  float* dq_sums;
  /// If there are sums, only these queries of a sequence take part: all of them but in a sampled
  /// check.
  int query_begin, query_end;
  /// Varlen: cu_seqlens in `q`, and the number of sequences. Statistics begin at
  /// packed_statistics().
  const int* cu_seqlens_q;
  int sequences;
  int sum_columns;  // of dq_sums
  TensorMap d_o_map;

  /// Index of a query's StatisticsTile in a batch entry, or in a varlen sequence that begins at
  /// first_q.
  template <class Config>
  SPARK_HD std::size_t query_tile(int batch, int sequence, int first_q, int head, int query) const {
    const auto batch_head = static_cast<std::uint32_t>(batch * heads + head);
    return query_tile(batch_head,
                      kIsVarlen<Config> ? packed_statistics(first_q, sequence) + query : query);
  }
  SPARK_HD std::size_t query_tile(std::uint32_t batch_head, int query) const {
    return static_cast<std::size_t>(batch_head) *
               static_cast<std::size_t>(rows_per_head / StatisticsTile::kRows) +
           static_cast<std::size_t>(query / StatisticsTile::kRows);
  }
};

/// `positions` counts rows of statistics: statistics_rows(), or with a pattern all rows.
inline BackwardParams backward_params(const Problem& problem, const BackwardTensors& tensors,
                                      StatisticsTile* statistics, int positions,
                                      EncodeTensorMap encode) {
  BackwardParams params{};
  static_cast<LaunchParams&>(params) = launch_params(
      problem, {tensors.q, tensors.k, tensors.v, tensors.dq, nullptr, tensors.dropout_offset},
      encode);
  const auto keys = [&](const char* name, const TensorView<Bits16>& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_k, problem.key_heads(),
                        problem.head_dim);
  };
  const auto queries = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_q, problem.heads,
                        problem.head_dim);
  };
  params.out = queries("o", tensors.o);
  params.d_o = queries("d_o", tensors.d_o);
  params.d_o_map =
      map_of(params.d_o, problem.batch, problem.seqlen_q, problem.heads, problem.head_dim, encode);
  params.out_lse = tensors.lse;
  params.query_end = problem.seqlen_q;
  params.dq = queries("dq", tensors.dq);
  params.dk = keys("dk", tensors.dk);
  params.dv = keys("dv", tensors.dv);
  params.statistics = statistics;
  params.rows_per_head = round_up(positions, StatisticsTile::kRows);
  return params;
}

}  // namespace sparkbench::hopper
