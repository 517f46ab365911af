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

/// Counts of all blocks of `grid` together, from a sample that is not empty. Assumes that a block's
/// counts depend only on its work, work[block(0)], or block(0) itself if `work` is empty: the mean
/// of the sampled blocks of equal work, linearly interpolated between neighbours. Outside the
/// sampled range it extrapolates the line of the nearest two, for as far as these two are apart,
/// and is constant from there. So the sum is exact if counts are affine in the work, as they are in
/// the number of key tiles that a block visits, and no block is further outside the sample.
Counters extrapolate_to_grid(std::span<const BlockCounters> sample, const std::array<int, 3>& grid,
                             std::span<const double> work = {});

}  // namespace sparkbench
