// How the sums of dQ lie in the workspace of the backward pass: as the accumulators of the blocks
// that add to them, so that an atomic instruction adds to 128 consecutive bytes. Queries are
// rounded up to whole steps.
//   [batch * heads][query / 16][column / 32][element 0..15][lane]
// Element 8f + i is element i of column group f (matmul_probabilities) of 16 queries, 32 columns.
#pragma once

#include <cstddef>

#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench::volta {

/// Of 16 queries and 32 columns.
inline constexpr int kSumElements = 16;
inline constexpr int kSumBlock = 32 * kSumElements;

/// First sum of a block of 16 queries and 32 columns.
SPARK_HD std::size_t sum_block_offset(std::uint32_t query_group, int head_dim, int column_block) {
  const std::uint32_t block = query_group * static_cast<std::uint32_t>(head_dim / 32) +
                              static_cast<std::uint32_t>(column_block);
  return static_cast<std::size_t>(block) * kSumBlock;
}

}  // namespace sparkbench::volta
