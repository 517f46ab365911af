// A forward kernel's launch on the emulated machine: blocks of some query rows of one head, in the
// order of tile/forward_block.h. Each block visits the tiles of keys that one of its rows sees.
#pragma once

#include <span>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Tiles of `keys` keys, the first of which begins at a multiple of `start`.
struct KeyTiles {
  int keys;
  int start = keys;
};

struct ForwardGrid {
  const char* id;  // of the instance
  int threads;     // of a block
  std::size_t shared_bytes;
  int block_rows;
  KeyTiles tiles;
};

/// `tiles` are the query tiles to compute; none means all. Rows of the blocks that hold these are
/// computed too.
LaunchShape forward_shape(const Problem& problem, const ForwardGrid& grid,
                          std::span<const SampleTile> tiles);

/// How many tiles of keys each block of `block_rows` query rows visits. A block's counts are affine
/// in it.
std::vector<double> tiles_of_blocks(const Problem& problem, int block_rows, const KeyTiles& tiles,
                                    bool is_last_tile_first);

}  // namespace sparkbench
