// An order of a grid's tokens in which neighbours on all axes lie side by side: tile by tile, so
// that 64 tokens in a row are a box. A neighbourhood is made of whole tiles in it, where row by row
// it is made of short runs. The order is an address, never a copy: kernels find a tile's rows from
// its first token on, by a step for each bit of their number (kernels/tile/row_order.h). C++17.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Tokens of a tile.
inline constexpr int kOrderTileBits = 6;
inline constexpr int kOrderTile = 1 << kOrderTileBits;
inline constexpr int kOrderAxes = 3;

/// Position kOrderTile * t + r is token r of tile t. Tiles are counted row-major over the axes, but
/// along `counted_first` first of all. Of r each axis has some bits, so that 32 tokens from one
/// with r % 32 = 0 on, and 16, are boxes, too. Where an extent is no multiple of the tile's, the
/// last tiles of that axis begin further inside and share tokens with those before, which own them:
/// each token has one position that owns it.
struct GridOrder {
  int extent[kOrderAxes] = {1, 1, 1};  // tokens, outermost axis first, 1 where there is none
  int bits[kOrderAxes] = {0, 0, 0};    // a tile has 2^bits tokens of an axis, no more than extent
  int shift[kOrderAxes] = {0, 0, 0};   // where these bits begin in r; together they have r's six
  int counted_first = kOrderAxes - 1;  // the axis on which tiles t and t + 1 are neighbours

  SPARK_HD int tile_extent(int axis) const { return 1 << bits[axis]; }
  SPARK_HD int tiles_of_axis(int axis) const {
    return (extent[axis] + tile_extent(axis) - 1) >> bits[axis];
  }
  SPARK_HD int tokens() const { return extent[0] * extent[1] * extent[2]; }
  SPARK_HD int tiles() const { return tiles_of_axis(0) * tiles_of_axis(1) * tiles_of_axis(2); }
  /// What lengths are in this order: at least tokens().
  SPARK_HD int positions() const { return kOrderTile * tiles(); }

  /// The two other axes, the inner one first.
  SPARK_HD int counted_next() const { return counted_first == 2 ? 1 : 2; }
  SPARK_HD int counted_last() const { return counted_first == 0 ? 1 : 0; }

  /// Which tile of each axis a tile is, and back.
  struct TilePlace {
    int of_axis[kOrderAxes];
  };
  SPARK_HD TilePlace place_of_tile(int tile) const {
    const int first = tiles_of_axis(counted_first), next = tiles_of_axis(counted_next());
    const int line = first == 1 ? tile : tile / first, plane = next == 1 ? line : line / next;
    TilePlace place;
    place.of_axis[counted_first] = tile - first * line;
    place.of_axis[counted_next()] = line - next * plane;
    place.of_axis[counted_last()] = plane;
    return place;
  }
  SPARK_HD int tile_at(const TilePlace& place) const {
    const int line = place.of_axis[counted_last()] * tiles_of_axis(counted_next()) +
                     place.of_axis[counted_next()];
    return line * tiles_of_axis(counted_first) + place.of_axis[counted_first];
  }

  /// The first coordinate of an axis' tile.
  SPARK_HD int begin_of_tile(int axis, int tile_of_axis) const {
    const int begin = tile_of_axis << bits[axis], last = extent[axis] - tile_extent(axis);
    return begin < last ? begin : last;
  }
  /// Tokens from one to the next of an axis.
  SPARK_HD int pitch(int axis) const {
    return axis == 2 ? 1 : axis == 1 ? extent[2] : extent[1] * extent[2];
  }
  /// From position r of a tile to the one that has bit `bit` besides.
  SPARK_HD int step_of_bit(int bit) const {
    int step = 0;
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      const int of_axis = bit - shift[axis];
      if (0 <= of_axis && of_axis < bits[axis]) step = pitch(axis) << of_axis;
    }
    return step;
  }

  /// Coordinates of a position's token, outermost axis first; `owns` is whether the position owns
  /// it.
  struct Place {
    int at[kOrderAxes];
    bool owns;
  };
  SPARK_HD Place place_of_position(int position) const {
    Place place{{0, 0, 0}, true};
    const TilePlace tile = place_of_tile(position >> kOrderTileBits);
    for (int axis = kOrderAxes - 1; axis >= 0; --axis) {
      const int of_axis = tile.of_axis[axis];
      const int inner = position >> shift[axis] & (tile_extent(axis) - 1);
      place.at[axis] = begin_of_tile(axis, of_axis) + inner;
      place.owns = place.owns && place.at[axis] >= of_axis << bits[axis];
    }
    return place;
  }
  SPARK_HD int token_of(int position) const {
    const Place place = place_of_position(position);
    return (place.at[0] * extent[1] + place.at[1]) * extent[2] + place.at[2];
  }
  SPARK_HD bool owns(int position) const { return place_of_position(position).owns; }

  /// The position that owns a token.
  SPARK_HD int position_of(int token) const {
    int inner = 0;
    TilePlace tile;
    for (int axis = kOrderAxes - 1; axis >= 0; --axis) {
      const int at = token % extent[axis];
      token /= extent[axis];
      const int of_axis = at >> bits[axis];
      tile.of_axis[axis] = of_axis;
      inner |= (at - begin_of_tile(axis, of_axis)) << shift[axis];
    }
    return kOrderTile * tile_at(tile) + inner;
  }

  /// Whether only the count of tiles may differ.
  bool has_tiles_of(const GridOrder& other) const {
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      if (extent[axis] != other.extent[axis] || bits[axis] != other.bits[axis] ||
          shift[axis] != other.shift[axis]) {
        return false;
      }
    }
    return true;
  }
  bool operator==(const GridOrder& other) const {
    return has_tiles_of(other) && counted_first == other.counted_first;
  }
};

}  // namespace sparkbench
