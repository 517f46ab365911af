// What a warp issues from a kernel's entry, or a loop's head, to its end: the link between reading
// code (a walk by policy, or the values that decide its branches) and timing it.
#pragma once

#include <cstdint>
#include <vector>

namespace sparkbench {

struct PathStep {
  std::int32_t instruction;        // index into SassFunction::instructions
  bool is_taken = false;           // a branch that jumps
  bool is_executed = true;         // false: predicated off in every lane, an issue slot only
  std::int16_t barrier = 0;        // of a BAR: which of the block's 16
  std::int16_t barrier_warps = 0;  // that meet there; 0: all of the block

  bool operator==(const PathStep&) const = default;
};

using WarpPath = std::vector<PathStep>;

/// A path for each warp of a block.
using BlockPaths = std::vector<WarpPath>;

}  // namespace sparkbench
