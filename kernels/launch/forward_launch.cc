#include "kernels/launch/forward_launch.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/ceil_divide.h"
#include "kernels/tile/forward_params.h"

namespace sparkbench {

std::vector<std::array<int, 3>> blocks_of_tiles(std::span<const SampleTile> tiles, int block_rows,
                                                int blocks_of_head, bool is_last_tile_first) {
  std::set<std::array<int, 3>> blocks;
  for (const auto& [tile, head, batch] : tiles) {
    const int first = tile * kSampleRows / block_rows;
    const int end = std::min(ceil_divide((tile + 1) * kSampleRows, block_rows), blocks_of_head);
    for (int block = first; block < end; ++block) {
      blocks.insert({is_last_tile_first ? blocks_of_head - 1 - block : block, head, batch});
    }
  }
  return {blocks.begin(), blocks.end()};
}

std::vector<double> tiles_of_blocks(const Problem& problem, int block_rows, const KeyTiles& tiles,
                                    bool is_last_tile_first) {
  const KeyMask mask = problem.key_mask();
  const int blocks = ceil_divide(problem.seqlen_q, block_rows);
  std::vector<double> work;
  for (int block = 0; block < blocks; ++block) {
    const int tile = is_last_tile_first ? blocks - 1 - block : block;
    const Range keys = mask.keys_of_any({tile * block_rows, (tile + 1) * block_rows});
    const int first = keys.begin / tiles.start * tiles.start;
    work.push_back(keys.is_empty() ? 0.0 : ceil_divide(keys.end - first, tiles.keys));
  }
  return work;
}

std::vector<double> steps_of_blocks(const KernelInstance& instance, const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  const int step = instance.step_columns / instance.teams;
  std::vector<double> work;
  for (int key = 0; key < problem.seqlen_k; key += instance.block_rows) {
    const int end = std::min(key + instance.block_rows, problem.seqlen_k);
    const Range rows = mask.rows_of_any({key, end});
    const int first = rows.begin / step * step;
    work.push_back(rows.is_empty() ? 0.0 : ceil_divide(rows.end - first, step));
  }
  return work;
}

LaunchShape forward_shape(const Problem& problem, const ForwardGrid& grid,
                          std::span<const SampleTile> tiles) {
  LaunchShape shape;
  shape.kernel = grid.id;
  shape.grid = {ceil_divide(problem.seqlen_q, grid.block_rows), problem.heads, problem.batch};
  shape.threads = grid.threads;
  shape.shared_bytes = grid.shared_bytes;
  const bool is_reversed = launches_last_tile_first(problem.key_mask());
  shape.blocks = blocks_of_tiles(tiles, grid.block_rows, shape.grid[0], is_reversed);
  shape.work = tiles_of_blocks(problem, grid.block_rows, grid.tiles, is_reversed);
  return shape;
}

}  // namespace sparkbench
