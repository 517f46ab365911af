// A forward kernel's launch on the emulated machine: blocks of some query rows of one head, in the
// order of tile/forward_block.h. Each block visits the tiles of keys that one of its rows sees.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/launch/kernel_instance.h"
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

/// The blocks of `block_rows` rows, or keys, that contain these tiles, each once.
std::vector<std::array<int, 3>> blocks_of_tiles(std::span<const SampleTile> tiles, int block_rows,
                                                int blocks_of_head,
                                                bool is_last_tile_first = false);

/// `tiles` are the query tiles to compute; none means all. Rows of the blocks that hold these are
/// computed too.
LaunchShape forward_shape(const Problem& problem, const ForwardGrid& grid,
                          std::span<const SampleTile> tiles);

/// How many tiles of keys each block of `block_rows` query rows visits. A block's counts are affine
/// in it.
std::vector<double> tiles_of_blocks(const Problem& problem, int block_rows, const KeyTiles& tiles,
                                    bool is_last_tile_first);

/// How many steps of queries each block of an instance's keys visits for one query head. Its counts
/// are affine in them.
std::vector<double> steps_of_blocks(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench
