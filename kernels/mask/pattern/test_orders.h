// For tests: the orders of a grid's tokens.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/mask/pattern/grid_order.h"

namespace sparkbench {

/// Each choice of a tile's bits with each place of these, and each axis along which tiles are
/// counted first.
inline std::vector<GridOrder> orders_of(const int (&extent)[kOrderAxes]) {
  std::vector<GridOrder> orders;
  for (int code = 0; code < 1 << (3 * kOrderAxes); ++code) {
    GridOrder order;
    int all_bits = 0;
    bool fits = true;
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      order.extent[axis] = extent[axis];
      order.bits[axis] = code >> (3 * axis) & 7;
      all_bits += order.bits[axis];
      fits = fits && order.tile_extent(axis) <= extent[axis];
    }
    if (!fits || all_bits != kOrderTileBits) continue;
    int axes[kOrderAxes] = {0, 1, 2};  // from r's lowest bits on
    do {
      int shift = 0;
      for (const int axis : axes) {
        order.shift[axis] = shift;
        shift += order.bits[axis];
      }
      for (order.counted_first = 0; order.counted_first < kOrderAxes; ++order.counted_first) {
        orders.push_back(order);
      }
    } while (std::next_permutation(std::begin(axes), std::end(axes)));
  }
  return orders;
}

/// Of the same tiles, counted first along another axis.
inline GridOrder counted_first_along(int axis, GridOrder order) {
  order.counted_first = axis;
  return order;
}

inline std::string name_of_order(const GridOrder& order) {
  std::string name;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    name += (axis > 0 ? " x " : "") + std::to_string(order.extent[axis]) + " in " +
            std::to_string(order.tile_extent(axis)) + " from bit " +
            std::to_string(order.shift[axis]);
  }
  return name + ", counted along axis " + std::to_string(order.counted_first) + " first";
}

}  // namespace sparkbench
