#include "harness/model/flow/block_paths.h"

#include <stdexcept>
#include <string>

#include "harness/model/flow/warp_walk.h"
#include "harness/model/predict/v100_constants.h"

namespace sparkbench {
namespace {

const SassFunction& checked(const SassFunction& function) {
  if (function.sm != kModelledSm) {
    throw std::invalid_argument("function " + function.symbol + " is for sm_" +
                                std::to_string(function.sm) + ", allowed: sm_70");
  }
  return function;
}

}  // namespace

LaunchPaths::LaunchPaths(const SassFunction& function, const KernelLaunch& launch)
    : launch_(launch), program_(checked(function), launch.constants) {}

FollowedBlock LaunchPaths::of_block(const Extents& block) const {
  for (int axis = 0; axis < 3; ++axis) {
    if (block[axis] < 0 || block[axis] >= launch_.grid[axis]) {
      throw std::invalid_argument("a block outside the grid");
    }
  }
  FollowedBlock followed;
  PathNotes notes;
  SharedWords shared;
  std::uint64_t steps_left = kMaxBlockSteps;
  const int warps = (launch_.threads() + kLanes - 1) / kLanes;
  for (int warp = 0; warp < warps; ++warp) {
    WarpWalk walk(program_, launch_, block, warp, shared);
    followed.paths.push_back(walk.walk(steps_left));
    steps_left -= followed.paths.back().size();
    notes.add(walk.notes());
    followed.shared_accesses += walk.shared_accesses();
  }
  followed.notes = notes.all();
  return followed;
}

}  // namespace sparkbench
