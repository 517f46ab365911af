// Launches over the lists of a pattern (sparse_lists.h) on the emulated machine: which blocks serve
// a sample.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench {

/// The launch of a kernel that combines splits, kMergeRows rows of a split per block; for a sample,
/// those of its tiles.
LaunchShape split_shape(const char* kernel, const SparseTileLists& lists, int block_rows,
                        const TensorShape& of, std::span<const SampleTile> tiles);
/// Whether it has nothing to do: a sample of no such rows would mean all.
bool has_nothing(const LaunchShape& shape, std::span<const SampleTile> tiles);

/// A launch of a list's blocks: all of them, or those that have rows, or keys, of a sample.
struct ListLaunch {
  const char* id;
  int threads;
  std::size_t shared_bytes;
  const SparseTileLists& lists;
  int heads, batch;  // that have blocks
  int block_rows;
};

LaunchShape list_shape(const ListLaunch& launch, std::span<const SampleTile> tiles);

}  // namespace sparkbench
