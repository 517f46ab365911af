// The paths of all warps of a block of a launch.
#pragma once

#include <vector>

#include "harness/model/flow/kernel_launch.h"
#include "harness/model/flow/path_notes.h"
#include "harness/model/flow/program.h"
#include "harness/model/flow/shared_accesses.h"
#include "harness/model/flow/warp_path.h"

namespace sparkbench {

struct FollowedBlock {
  BlockPaths paths;
  std::vector<PathNote> notes;     // of all warps together
  SharedAccesses shared_accesses;  // likewise
};

/// Reads a function once for the blocks of a launch.
class LaunchPaths {
 public:
  /// Throws std::invalid_argument for a function of another architecture than sm_70.
  LaunchPaths(const SassFunction& function, const KernelLaunch& launch);

  /// Throws as WarpWalk::walk() does, and std::invalid_argument for a block outside the grid.
  FollowedBlock of_block(const Extents& block) const;

 private:
  KernelLaunch launch_;
  Program program_;
};

}  // namespace sparkbench
