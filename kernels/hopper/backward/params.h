// What the Hopper backward kernels are launched with: the same on a GPU and on the emulated
// machine.
//
// dK and dV are a kernel's over blocks of keys. dQ is a kernel of its own, over blocks of queries,
// as the forward pass is, or comes from sums that the kernel of dK and dV adds to (dq_form.h).
#pragma once

#include "kernels/base/round_up.h"
#include "kernels/hopper/launch_params.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/tile/row_statistics.h"

namespace sparkbench::hopper {

/// What the backward kernels ask of 64 queries (RowStatistics). A lane of the kernel of dK and dV
/// has two queries of each eight; what it asks of sixteen lies side by side.
struct alignas(16) StatisticsTile {
  static constexpr int kRows = 64;
  float offset[kRows], delta[kRows];

  /// Of a query.
  SPARK_HD static constexpr int place(int query) {
    return query / 16 * 16 + query % 8 / 2 * 4 + query / 8 % 2 * 2 + query % 2;
  }
  /// Of those of a lane's among queries 16 * pair to 16 * pair + 15: two of the first eight, two of
  /// the others.
  SPARK_HD static constexpr int place_of_lane(int pair, int lane) {
    return 16 * pair + 4 * (lane % 4);
  }
};

/// What the positions of a sequence are rounded up to in the workspace: the kernels' steps of
/// queries are whole there. Of a pattern StatisticsTile::kRows, for so long are its steps.
inline constexpr int kPositionBlock = 128;
SPARK_HD constexpr int statistics_rows(int seqlen_q) {
  return (seqlen_q + kPositionBlock - 1) / kPositionBlock * kPositionBlock;
}

/// Where the statistics of a packed sequence begin, which begins at first_q itself: at a block,
/// behind those of the sequences before.
SPARK_HD constexpr int packed_statistics(int first_q, int sequence) {
  return (first_q + kPositionBlock * sequence) / kPositionBlock * kPositionBlock;
}
/// All positions, of sequences of so many rows together.
SPARK_HD constexpr int packed_positions(int total_q, int sequences) {
  return statistics_rows(total_q + kPositionBlock * sequences);
}

/// Beside a forward pass's: `sparse` are the lists of the launch's blocks, of queries or of keys.
struct BackwardParams : LaunchParams {
  ChunkedView<const Half> out, d_o;  // O of the forward pass
  const float* out_lse;
  ChunkedView<Half> dq, dk, dv;
  ChunkedView<Half> part_dq, part_dk, part_dv;
  /// [batch * heads, rows_per_head / 64]
  StatisticsTile* statistics;
  int rows_per_head;
  /// Of dQ, before it is scaled, [batch * heads, rows_per_head / 64], each of 64 queries as the
  /// lanes of a warpgroup have them: of 8 columns after the other, 16 bytes a lane. Null where a
  /// kernel of its own forms dQ.
  float* dq_sums;
  /// Only these queries of a sequence take part where there are sums: all of them but in a sampled
  /// check.
  int query_begin, query_end;
  /// Of packed sequences: where each begins in `q`, and how many there are. Their statistics begin
  /// at packed_statistics().
  const int* cu_seqlens_q;
  int sequences;
  TensorMap d_o_map;

  /// Which tile of all is a query's of a batch entry, and of a packed sequence, which begins at
  /// first_q.
  template <class Config>
  SPARK_HD std::size_t query_tile(int batch, int sequence, int first_q, int head, int query) const {
    const auto batch_head = static_cast<std::uint32_t>(batch * heads + head);
    return query_tile(batch_head,
                      Config::kIsPacked ? packed_statistics(first_q, sequence) + query : query);
  }
  SPARK_HD std::size_t query_tile(std::uint32_t batch_head, int query) const {
    return static_cast<std::size_t>(batch_head) *
               static_cast<std::size_t>(rows_per_head / StatisticsTile::kRows) +
           static_cast<std::size_t>(query / StatisticsTile::kRows);
  }
};

/// `positions`: of queries, as many as statistics_rows(), or of a pattern all rows.
inline BackwardParams backward_params(const Problem& problem, const BackwardTensors& tensors,
                                      StatisticsTile* statistics, int positions,
                                      EncodeTensorMap encode) {
  BackwardParams params{};
  static_cast<LaunchParams&>(params) = launch_params(
      problem, {tensors.q, tensors.k, tensors.v, tensors.dq, nullptr, tensors.dropout_offset},
      encode);
  const auto keys = [&](const char* name, const TensorView<Half>& tensor) {
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
