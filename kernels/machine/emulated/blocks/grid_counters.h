// From the counts of the blocks that ran to those of the whole grid.
#pragma once

#include <array>
#include <span>

#include "kernels/machine/emulated/report/counters.h"

namespace sparkbench {

struct BlockCounters {
  std::array<int, 3> block;
  Counters counters;
};

/// What all blocks of `grid` count together, from a sample that is not empty. A block's counts are
/// taken to depend on its work alone, work[block(0)], or block(0) itself where `work` is empty: the
/// mean of the sampled blocks of equal work, on a straight line between neighbours. Below the least
/// work and above the most the line of the nearest two goes on, for as far as these two lie apart,
/// and is constant from there. So the sum is exact where counts are affine in the work, as they are
/// in the number of key tiles that a block walks, if no block lies further outside the sample.
Counters extrapolate_to_grid(std::span<const BlockCounters> sample, const std::array<int, 3>& grid,
                             std::span<const double> work = {});

}  // namespace sparkbench
