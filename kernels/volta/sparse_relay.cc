#include "kernels/volta/sparse_relay.h"

#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/block_sparse/relayed_keys.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/sparse_kinds.h"

namespace sparkbench::volta {

namespace {

/// Keys that a row sees at most, in the mean: the host looks at each tile, and what a relay saves,
/// sums of dQ that are set to zero and rounded, is less of a pass the more keys rows see.
constexpr int kMostKeysOfRows = 2048;

RelayOfKeys relay_of(const Problem& problem) {
  return relay_of_keys(*problem.sparse, relayed_keys(relay_block_keys(problem.head_dim)),
                       kMostKeysOfRows);
}

}  // namespace

bool has_sparse_relay(const Problem& problem, bool is_deterministic) {
  if (is_deterministic || !serves_relay(problem.head_dim)) return false;
  const int block_keys = relay_block_keys(problem.head_dim);
  const RelayOfKeys relay = relay_of(problem);
  return relay.reaches_all_rows && !relay.splits_blocks &&
         relay.most_waits * block_keys < kMostKeysInStep;
}

bool prepares_sparse_statistics(const Problem& problem) {
  if (problem.head_dim <= 64) return false;
  return relay_of(problem).most_first * kRelayStep <=
         kMostPreparedBlocks * relay_block_keys(problem.head_dim);
}

std::size_t sparse_turns_bytes(const Problem& problem) {
  return packed_turns_bytes(walked_problem(problem));
}

SparseRelayWorkspace::SparseRelayWorkspace(const Problem& problem) {
  WorkspacePlaces places(backward_workspace_bytes(walked_problem(problem), false));
  turns = places.take(sparse_turns_bytes(problem));
  bytes = places.end();
}

}  // namespace sparkbench::volta
