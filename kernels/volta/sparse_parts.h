// What parts of a pattern's longest blocks (kernels/tile/sparse_list.h) store in the workspace of a
// backward pass, and what merges it; and what a pattern's order changes of a launch. C++17, for
// both machines.
#pragma once

#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/problem/attention.h"
#include "kernels/tile/merge_parts.h"
#include "kernels/volta/backward/params.h"

namespace sparkbench::volta {

/// Where they begin in the workspace of a backward pass, in bytes, each aligned to 256, behind the
/// rest. Saturates.
struct PartsWorkspace {
  /// Of so many rows of parts.
  static PartsWorkspace backward(const Problem& problem, int rows_of_keys, int rows_of_queries,
                                 bool is_deterministic);

  std::uint64_t dk = 0, dv = 0, dq = 0;
  std::uint64_t bytes = 0;  // of all of the workspace
};

/// That a pass over a pattern takes which is not run as passes. Throws std::invalid_argument where
/// there is no instance for it.
std::uint64_t sparse_workspace_bytes(Accumulator accumulator, const Problem& problem, Pass pass,
                                     bool is_deterministic);

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

}  // namespace sparkbench::volta
