// What the Hopper backward kernels are launched with: the same on a GPU and on the emulated
// machine.
//
// dQ is a kernel of its own, over blocks of queries, as the forward pass is; dK and dV are another,
// over blocks of keys. Both compute S and dP: seven products where five would do. In return no sum
// is by atomics. So gradients have the same bits each time, and no memory holds FP32 sums of dQ.
#pragma once

#include "kernels/hopper/launch_params.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/tile/row_statistics.h"

namespace sparkbench::hopper {

/// What the rows of a head are rounded up to in the workspace: steps of queries are whole there.
inline constexpr int kStatisticsBlock = 64;
SPARK_HD constexpr int statistics_rows(int seqlen_q) {
  return (seqlen_q + kStatisticsBlock - 1) / kStatisticsBlock * kStatisticsBlock;
}

/// Where the statistics of a packed sequence begin, which begins at first_q itself: at a step of
/// queries, behind those of the sequences before.
SPARK_HD constexpr int packed_statistics(int first_q, int sequence) {
  return (first_q + kStatisticsBlock * sequence) / kStatisticsBlock * kStatisticsBlock;
}
/// All positions, of sequences of so many rows together.
SPARK_HD constexpr int packed_positions(int total_q, int sequences) {
  return statistics_rows(total_q + kStatisticsBlock * sequences);
}

/// Beside a forward pass's: `sparse` are the lists of the launch's blocks, of queries or of keys.
struct BackwardParams : LaunchParams {
  ChunkedView<const Half> out, d_o;  // O of the forward pass
  const float* out_lse;
  ChunkedView<Half> dq, dk, dv;
  ChunkedView<Half> part_dq, part_dk, part_dv;
  /// [batch * heads, rows_per_head], by the positions of queries where a pattern has an order.
  RowStatistics* statistics;
  int rows_per_head;
  RowOrder query_order;  // has tiles where a pattern has an order
  /// Of packed sequences: where each begins in `q`, and how many there are. Their statistics begin
  /// at packed_statistics().
  const int* cu_seqlens_q;
  int sequences;
  TensorMap d_o_map;

  /// Of a query of a batch entry, and of a packed sequence, which begins at first_q.
  template <class Config>
  SPARK_HD RowStatistics* statistics_of(int batch, int sequence, int first_q, int head,
                                        int query) const {
    const auto batch_head = static_cast<std::uint32_t>(batch * heads + head);
    return statistics_of(batch_head,
                         Config::kIsPacked ? packed_statistics(first_q, sequence) + query : query);
  }
  SPARK_HD RowStatistics* statistics_of(std::uint32_t batch_head, int query) const {
    return statistics +
           (static_cast<std::size_t>(batch_head) * static_cast<std::size_t>(rows_per_head) +
            static_cast<std::size_t>(query));
  }
};

/// `positions`: of queries, as many as rows, or as a pattern's order has.
inline BackwardParams backward_params(const Problem& problem, const BackwardTensors& tensors,
                                      RowStatistics* statistics, int positions,
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
  params.dq = queries("dq", tensors.dq);
  params.dk = keys("dk", tensors.dk);
  params.dv = keys("dv", tensors.dv);
  params.statistics = statistics;
  params.rows_per_head = statistics_rows(positions);
  return params;
}

}  // namespace sparkbench::hopper
