// How a backward pass of the Hopper kernels lays out its workspace, and what a pattern changes of
// its launches. C++17, for both machines.
#pragma once

#include "kernels/hopper/backward_params.h"
#include "kernels/pattern_parts.h"
#include "kernels/saturating.h"

namespace sparkbench::hopper {

/// Where its parts begin, in bytes: the statistics of queries, and what blocks store that share
/// rows of a pattern. Saturates.
struct BackwardWorkspace {
  /// Of so many positions of queries, and rows of parts.
  BackwardWorkspace(const Problem& problem, int positions, int key_rows = 0, int query_rows = 0) {
    const std::uint64_t rows = saturating_product(
        {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
         static_cast<std::uint64_t>(statistics_rows(positions))});
    WorkspacePlaces places(0);
    statistics = places.take(saturating_product({rows, sizeof(RowStatistics)}));
    if (key_rows > 0) {
      dk = places.take(part_tensor_bytes(problem, problem.key_heads(), key_rows));
      dv = places.take(part_tensor_bytes(problem, problem.key_heads(), key_rows));
    }
    if (query_rows > 0) dq = places.take(part_tensor_bytes(problem, problem.heads, query_rows));
    bytes = places.end();
  }

  std::uint64_t statistics, dk = 0, dv = 0, dq = 0, bytes;
};

inline void give_key_parts(BackwardParams& params, const Problem& problem, int rows, Half* dk,
                           Half* dv) {
  if (rows == 0) return;
  params.part_dk = part_view(dk, problem, problem.key_heads(), rows);
  params.part_dv = part_view(dv, problem, problem.key_heads(), rows);
}
inline void give_query_parts(BackwardParams& params, const Problem& problem, int rows, Half* dq) {
  if (rows == 0) return;
  params.part_dq = part_view(dq, problem, problem.heads, rows);
}

}  // namespace sparkbench::hopper
