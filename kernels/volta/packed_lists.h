// Which lists of blocks (kernels/varlen/work_lists.h) the Volta kernels take for packed sequences,
// and the workspace that these ask for.
#pragma once

#include "kernels/base/saturating.h"
#include "kernels/varlen/work_lists.h"
#include "kernels/volta/backward/workspace.h"

namespace sparkbench::volta {

/// Of a forward configuration, of a backward one, and of all kernels that have queries there.
template <class Config>
inline constexpr WorkListKind kForwardList = {false, Config::kBlockM};
template <class Config>
inline constexpr WorkListKind kKeyList = {true, Config::kBlockKeys};
inline constexpr WorkListKind kQueryList = {false, kWorkspaceBlock};

/// The workspace of a backward pass: the lists of queries and of keys, and behind them what a pass
/// over sequences of one length has.
struct PackedBackwardLayout {
  std::uint64_t query_bytes, key_bytes, rows_bytes;

  PackedBackwardLayout(const Problem& packed, int batch, const WorkListKind& keys,
                       bool is_deterministic)
      : query_bytes(work_list_bytes(packed, batch, kQueryList)),
        key_bytes(work_list_bytes(packed, batch, keys)),
        rows_bytes(backward_workspace_bytes(workspace_problem(packed, batch), is_deterministic)) {}
  std::uint64_t bytes() const { return saturating_sum({query_bytes, key_bytes, rows_bytes}); }
};

}  // namespace sparkbench::volta
