// Which backward passes over patterns have dQ in relay (backward/dq_relay.h): their list of keys
// tells each block its turns, and each step of queries has a slot, as it has rows in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/problem/attention.h"

namespace sparkbench::volta {

/// Where rows see so few keys that a relay is faster, each of them some, and blocks wait little for
/// each other. Not of a deterministic pass, as backward/relay_plan.h has it. The problem has a
/// pattern, and no passes.
bool has_sparse_relay(const Problem& problem, bool is_deterministic);

/// Whether the blocks of such a pass prepare the statistics of its queries (tile_statistics.h), and
/// no launch before: at 128 columns, where none is the first to see many, for which others of the
/// same queries would wait. At 64 columns a block takes as long for them as its share of a launch.
bool prepares_sparse_statistics(const Problem& problem);

/// Of the words that tell turns, one for each step of all heads' queries.
std::size_t sparse_turns_bytes(const Problem& problem);

/// Where these begin in the workspace of a pass that has_sparse_relay(), behind what others have,
/// and the bytes of all of it.
struct SparseRelayWorkspace {
  explicit SparseRelayWorkspace(const Problem& problem);

  std::uint64_t turns, bytes;
};

}  // namespace sparkbench::volta
