// The workspace of the Volta kernels' passes of a pattern.
#pragma once

#include <algorithm>

#include "kernels/strided/pattern_launches.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/sparse_parts.h"

namespace sparkbench::volta {

/// Of a problem that has_mask_passes(). Launches follow each other, and share what is theirs.
inline PassesWorkspace passes_workspace(Accumulator accumulator, const Problem& problem, Pass pass,
                                        bool is_deterministic) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(problem)) {
    if (view.sparse) {
      most = std::max(most, sparse_workspace_bytes(accumulator, view, pass, is_deterministic));
    } else if (pass != Pass::kForward) {
      most =
          std::max<std::uint64_t>(most, backward_workspace_bytes_of_grid(view, is_deterministic));
    }
  }
  return {problem, pass, most};
}

}  // namespace sparkbench::volta
