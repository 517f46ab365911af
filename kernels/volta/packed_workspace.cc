#include "kernels/volta/packed_workspace.h"

#include "kernels/volta/instances.h"
#include "kernels/volta/packed_lists.h"

namespace sparkbench::volta {

// Blocks of every configuration for packed sequences have the rows of one of these.
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  if (pass == Pass::kForward) {
    const WorkListKind list{false, forward_block_rows(packed.head_dim)};
    return work_list_bytes(packed, batch, list);
  }
  constexpr WorkListKind kKeys = kKeyList<BackwardConfig<Accumulator::kFp32, 64, false, true>>;
  return PackedBackwardLayout(packed, batch, kKeys, is_deterministic).bytes();
}

}  // namespace sparkbench::volta
