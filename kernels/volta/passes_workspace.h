// The workspace of the Volta kernels' passes of a pattern.
#pragma once

#include <algorithm>

#include "kernels/pattern_launches.h"
#include "kernels/volta/backward_workspace.h"

namespace sparkbench::volta {

/// Of a problem that has_mask_passes(). Launches follow each other, and share what is theirs.
inline PassesWorkspace passes_workspace(const Problem& problem, Pass pass, bool is_deterministic) {
  std::uint64_t most = 0;
  if (pass != Pass::kForward) {
    for (const Problem& view : problems_of_views(problem)) {
      most = std::max<std::uint64_t>(most, backward_workspace_bytes(view, is_deterministic));
    }
  }
  return {problem, pass, most};
}

}  // namespace sparkbench::volta
