// How the backward pass lays out its workspace.
#pragma once

#include "kernels/base/saturating.h"
#include "kernels/launch/plan.h"
#include "kernels/problem/attention.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/backward/relay_plan.h"

namespace sparkbench::volta {

/// Rows of the workspace, over all heads.
inline std::size_t all_workspace_rows(const Problem& problem) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(problem.heads),
                             static_cast<std::uint64_t>(workspace_rows(problem.seqlen_q))});
}

/// A multiple of 1 KiB, so that the sums of dQ after it are aligned like a fresh allocation.
inline std::size_t statistics_bytes(const Problem& problem) {
  return saturating_product({all_workspace_rows(problem), sizeof(RowStatistics)});
}

/// Columns of the sums of dQ.
inline int sum_columns(const Problem& problem) {
  return sum_columns(problem.head_dim / kChunkHalves);
}

inline std::size_t dq_sums_bytes(const Problem& problem, bool is_deterministic) {
  return is_deterministic ? 0
                          : saturating_product({all_workspace_rows(problem),
                                                static_cast<std::uint64_t>(sum_columns(problem)),
                                                sizeof(float)});
}

/// A problem with the workspace of `batch` packed sequences. Those of a head follow each other;
/// each begins at a row of its own (first_workspace_row).
inline Problem workspace_problem(const Problem& packed, int batch) {
  Problem problem = packed;
  problem.seqlen_q = first_workspace_row(packed.seqlen_q, batch);
  return problem;
}

inline BackwardWorkspace take_workspace(const Problem& problem, bool is_deterministic,
                                        Workspace& workspace) {
  auto* const statistics = workspace.take<RowStatistics>("statistics", statistics_bytes(problem));
  auto* const sums =
      is_deterministic ? nullptr
                       : workspace.take<float>("dq_sums", dq_sums_bytes(problem, is_deterministic));
  return {statistics, sums, workspace_rows(problem.seqlen_q)};
}

}  // namespace sparkbench::volta
