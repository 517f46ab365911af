// Block mask of a pattern from an evaluator that is faster than the host: a GPU that runs the
// pattern's own code for each pair (device_sights.h). sparse_lists.h makes block-sparse metadata of
// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/jit/tile_question.h"

namespace sparkbench {

/// The tiles of a list (sparse_lists.h): for blocks of rows, or of keys.
struct SightedTiles {
  bool is_of_keys;
  int rows, keys;  // multiples of 32 keys
};

class TileSights {
 public:
  virtual ~TileSights() = default;

  /// [row_tiles, key_tiles]. Tiles with equal mask bits have equal sums.
  virtual std::vector<SeenTile> of_union(int of_union, const SightedTiles& tiles) const = 0;

  /// A partial tile of a union.
  struct Place {
    int of_union;
    CutTilePlace tile;
  };
  /// Writes the mask bits of `firsts` at their offsets. Returns whether all `others` have the mask
  /// bits that are then at theirs.
  virtual bool write_words(const SightedTiles& tiles, std::span<const Place> firsts,
                           std::span<const Place> others, std::span<std::uint32_t> words) const = 0;
};

}  // namespace sparkbench
