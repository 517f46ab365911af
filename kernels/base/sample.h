// Which part of a pass the emulated machine computes where the whole would take too long.
#pragma once

#include <array>
#include <vector>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {

/// Rows of a tile, the unit in which is sampled: whole blocks of every kernel, or whole parts of
/// one.
inline constexpr int kSampleRows = 128;

/// {tile, head, batch}: rows kSampleRows * tile and on. Of keys, `head` is a key head.
using SampleTile = std::array<int, 3>;

inline int sample_tiles_of(int seqlen) { return ceil_divide(seqlen, kSampleRows); }

/// Of a backward pass. Both empty: everything.
struct BackwardSample {
  std::vector<SampleTile> query_tiles;  // of dQ
  std::vector<SampleTile> key_tiles;    // of dK and dV

  bool is_everything() const { return query_tiles.empty() && key_tiles.empty(); }
};

}  // namespace sparkbench
