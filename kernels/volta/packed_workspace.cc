#include "kernels/volta/packed_workspace.h"

#include "kernels/volta/instances.h"
#include "kernels/volta/packed_lists.h"

namespace sparkbench::volta {

std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  if (pass == Pass::kForward) {
    const WorkListKind list{false, forward_block_rows(packed.head_dim)};
    return work_list_bytes(packed, batch, list);
  }
  const WorkListKind keys{true, backward_keys(packed.head_dim)};
  return PackedBackwardLayout(packed, batch, keys, is_deterministic).bytes();
}

}  // namespace sparkbench::volta
