// How a backward pass of the Hopper kernels lays out its workspace, and what a pattern changes of
// its launches. C++17, for both machines.
#pragma once

#include "kernels/base/ceil_divide.h"
#include "kernels/base/saturating.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/dq_form.h"

namespace sparkbench::hopper {

/// Where its parts begin, in bytes: the statistics of queries, and what blocks store that share
/// rows of a pattern. Saturates.
struct BackwardWorkspace {
  /// For `positions` query positions, `sum_columns` columns of dQ sums, and split rows.
  BackwardWorkspace(const Problem& problem, int positions, int sum_columns, int key_rows = 0,
                    int query_rows = 0) {
    const std::uint64_t tiles = saturating_product(
        {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
         static_cast<std::uint64_t>(ceil_divide(positions, StatisticsTile::kRows))});
    WorkspacePlaces places(0);
    statistics = places.take(saturating_product({tiles, sizeof(StatisticsTile)}));
    sums_bytes = saturating_product(
        {tiles, StatisticsTile::kRows, static_cast<std::uint64_t>(sum_columns), sizeof(float)});
    if (sum_columns > 0) dq_sums = places.take(sums_bytes);
    if (key_rows > 0) {
      dk = places.take(part_tensor_bytes(problem, problem.key_heads(), key_rows));
      dv = places.take(part_tensor_bytes(problem, problem.key_heads(), key_rows));
    }
    if (query_rows > 0) dq = places.take(part_tensor_bytes(problem, problem.heads, query_rows));
    bytes = places.end();
  }

  std::uint64_t statistics, dq_sums = 0, dk = 0, dv = 0, dq = 0, bytes;
  std::uint64_t sums_bytes;  // of dq_sums
};

/// The workspace of a problem without a pattern.
inline BackwardWorkspace dense_workspace(const Problem& problem, DqForm dq) {
  int columns = 0;
  if (dq == DqForm::kSummed) {
    visit_backward_sums<Blocks::kDense>(
        problem, [&](auto row, auto /*id*/) { columns = decltype(row)::kHeadDim; });
  }
  return {problem, statistics_rows(problem.seqlen_q), columns};
}

}  // namespace sparkbench::hopper
