#include "kernels/block_sparse/listed_emulated.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/tile/merge_parts.h"

namespace sparkbench {

LaunchShape split_shape(const char* kernel, const SparseTileLists& lists, int block_rows,
                        const TensorShape& of, std::span<const SampleTile> tiles) {
  const int blocks_of_split = block_rows / kMergeRows;
  LaunchShape shape{
      .kernel = kernel,
      .grid = {static_cast<int>(lists.splits().size()) * blocks_of_split, of.heads, of.batch},
      .threads = kMergeThreads,
      .shared_bytes = 0};
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : tiles) {
    for (int block = 0; block < shape.grid[0]; ++block) {
      const SparseSplit& split = lists.splits()[static_cast<std::size_t>(block / blocks_of_split)];
      const int row = split.first_row + block % blocks_of_split * kMergeRows;
      if (row / kSampleRows == tile && row < of.seqlen) chosen.insert({block, head, batch});
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return shape;
}

bool has_nothing(const LaunchShape& shape, std::span<const SampleTile> tiles) {
  return shape.grid[0] == 0 || (!tiles.empty() && shape.blocks.empty());
}

LaunchShape list_shape(const ListLaunch& launch, std::span<const SampleTile> tiles) {
  const int blocks = launch.lists.blocks_of_head();
  LaunchShape shape{.kernel = launch.id,
                    .grid = {launch.heads, blocks, launch.batch},
                    .threads = launch.threads,
                    .shared_bytes = launch.shared_bytes};
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : tiles) {
    for (int i = 0; i < blocks; ++i) {
      const int first = launch.lists.block(head % launch.lists.unions(), i).first_row;
      if (first / kSampleRows == tile ||
          first == tile * kSampleRows / launch.block_rows * launch.block_rows) {
        chosen.insert({head, i, batch});
      }
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return shape;
}

}  // namespace sparkbench
