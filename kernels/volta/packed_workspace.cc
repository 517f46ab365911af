#include "kernels/volta/packed_workspace.h"

#include <algorithm>

#include "kernels/volta/instances.h"
#include "kernels/volta/packed_lists.h"

namespace sparkbench::volta {

std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  if (pass == Pass::kForward) {
    const WorkListKind list{false, forward_block_rows(packed.head_dim)};
    return work_list_bytes(packed, batch, list);
  }
  const auto with = [&](const WorkListKind& keys) {
    return PackedBackwardLayout(packed, batch, keys, is_deterministic).bytes();
  };
  const std::uint64_t of_sums = with({true, backward_keys(packed.head_dim)});
  if (!has_packed_relay(packed, batch, is_deterministic)) return of_sums;
  // Not every GPU has room for a relay's blocks.
  return std::max(of_sums,
                  with({true, relay_block_keys(packed.head_dim), WorkOrder::kInRelay, kRelayStep}));
}

}  // namespace sparkbench::volta
