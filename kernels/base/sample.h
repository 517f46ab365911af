// Which part of a pass the emulated machine computes if the whole would take too long.
#pragma once

#include <array>
#include <vector>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {

/// Rows of a tile, the unit of sampling: whole blocks of every kernel, or whole splits of one.
inline constexpr int kSampleRows = 128;

/// {tile, head, batch}: rows from kSampleRows * tile on. For tiles of keys, `head` is a key head.
using SampleTile = std::array<int, 3>;

inline int sample_tiles_of(int seqlen) { return ceil_divide(seqlen, kSampleRows); }

/// The part of a backward pass. Both empty: everything.
struct BackwardSample {
  std::vector<SampleTile> query_tiles;  // of dQ
  std::vector<SampleTile> key_tiles;    // of dK and dV

  bool is_everything() const { return query_tiles.empty() && key_tiles.empty(); }
};

}  // namespace sparkbench
