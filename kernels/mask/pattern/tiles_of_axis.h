// Of keys of a grid in order, what an axis tells of the tiles that have them.
#pragma once

#include <cstdint>

#include "kernels/mask/pattern/grid_order.h"

namespace sparkbench {

/// Which parts of tiles are wanted: those that own a token of a box, or all of whose tokens are
/// owned, and in it.
enum class WantedParts { kSome, kEach };

/// Tiles side by side on an axis, and of the positions of each those that are wanted as far as the
/// axis tells.
struct AxisTiles {
  int first, end;
  std::uint64_t wanted;
};

/// The first tile of some keys, the last, and those between.
struct TilesOfAxis {
  int count = 0;
  AxisTiles tiles[3];

  void add(int first, int end, std::uint64_t wanted);
};

/// The tiles that have wanted parts, of 2^log positions, of keys within the axis.
void find_tiles(const GridOrder& order, int log, WantedParts wanted, int axis, const Range& keys,
                TilesOfAxis& found);

}  // namespace sparkbench
