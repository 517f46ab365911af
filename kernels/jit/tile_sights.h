// How tiles see a pattern, told by whoever can tell it faster than the host: a GPU that asks the
// pattern's own code for each pair (device_sights.h). sparse_lists.h makes lists of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/jit/tile_question.h"

namespace sparkbench {

/// Tiles of a list (sparse_lists.h): of blocks of rows, or of keys.
struct SightedTiles {
  bool is_of_keys;
  int rows, keys;  // multiples of 32 keys
};

class TileSights {
 public:
  virtual ~TileSights() = default;

  /// [row_tiles, key_tiles]. Tiles that show the same have the same sum.
  virtual std::vector<SeenTile> of_union(int of_union, const SightedTiles& tiles) const = 0;

  /// A cut tile of a union.
  struct Place {
    int of_union;
    CutTilePlace tile;
  };
  /// Writes the words of `firsts` where they say, and tells whether all `others` have the words
  /// that stand there then.
  virtual bool write_words(const SightedTiles& tiles, std::span<const Place> firsts,
                           std::span<const Place> others, std::span<std::uint32_t> words) const = 0;
};

}  // namespace sparkbench
