// From the counts of the blocks that ran to those of the whole grid.
#pragma once

#include <array>
#include <span>

#include "kernels/machine/emulated/blocks/counters.h"

namespace sparkbench {

struct BlockCounters {
  std::array<int, 3> block;
  Counters counters;
};

/// What all blocks of `grid` count together, from a sample that is not empty. A block's counts are
/// taken to depend on block(0) alone: the mean of the sampled blocks that share it, on a straight
/// line between neighbours, constant beyond the first and the last. So the sum is exact where
/// counts are affine in block(0), as the work of causal tiles is, and both ends are in the sample.
Counters extrapolate_to_grid(std::span<const BlockCounters> sample, const std::array<int, 3>& grid);

}  // namespace sparkbench
