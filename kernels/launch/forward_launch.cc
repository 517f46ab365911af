#include "kernels/launch/forward_launch.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/ceil_divide.h"
#include "kernels/tile/forward_params.h"

namespace sparkbench {
namespace {

/// The blocks that compute these tiles, each once: the inverse of locate_block's order.
std::vector<std::array<int, 3>> blocks_of_tiles(const Problem& problem, int block_rows,
                                                std::span<const SampleTile> tiles) {
  const int blocks_of_head = ceil_divide(problem.seqlen_q, block_rows);
  const bool is_reversed = launches_last_tile_first(problem.key_mask());
  std::set<std::array<int, 3>> blocks;
  for (const auto& [tile, head, batch] : tiles) {
    const int first = tile * kSampleRows / block_rows;
    const int end = std::min(ceil_divide((tile + 1) * kSampleRows, block_rows), blocks_of_head);
    for (int block = first; block < end; ++block) {
      blocks.insert({is_reversed ? blocks_of_head - 1 - block : block, head, batch});
    }
  }
  return {blocks.begin(), blocks.end()};
}

}  // namespace

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

LaunchShape forward_shape(const Problem& problem, const ForwardGrid& grid,
                          std::span<const SampleTile> tiles) {
  LaunchShape shape;
  shape.kernel = grid.id;
  shape.grid = {ceil_divide(problem.seqlen_q, grid.block_rows), problem.heads, problem.batch};
  shape.threads = grid.threads;
  shape.shared_bytes = grid.shared_bytes;
  shape.blocks = blocks_of_tiles(problem, grid.block_rows, tiles);
  shape.work = tiles_of_blocks(problem, grid.block_rows, grid.tiles,
                               launches_last_tile_first(problem.key_mask()));
  return shape;
}

}  // namespace sparkbench
