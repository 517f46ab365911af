// The host's question about a pattern's tiles, and the device's answer. NVRTC compiles it, too.
// C++17.
#pragma once

namespace sparkbench {

/// The tiles of one head's union: of `rows` by `keys`, a multiple of 32.
struct TileQuestion {
  int seqlen_q, seqlen_k;
  int row_at;  // position of row 0
  int text;    // which of the source's unions
  int head;
  int rows, keys, row_tiles, key_tiles;
  /// Past the last key, or else past the last row, there may be anything in a full tile.
  int may_pass_keys;
};

/// How a tile is seen: 0 empty, 1 cut, 2 full; and a sum over its words.
struct SeenTile {
  unsigned long long sum;
  int cover, unused;
};

/// A cut tile, and where its words are among all: [rows][keys / 32].
struct CutTilePlace {
  int row_tile, key_tile;
  int words;
  int unused;
};

}  // namespace sparkbench
