// Boxes of tokens that lie side by side in a grid's order, and a pattern's closed forms over them:
// what its words (ordered_words.h) and its tiles (ordered_runs.h) are made of.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Tokens of some positions.
struct OrderBox {
  Box all;
  Box owned;  // those that the positions own: each token is in one tile's
};

inline bool is_empty(const Box& box) {
  return std::any_of(std::begin(box.range), std::end(box.range),
                     [](const Range& range) { return range.is_empty(); });
}

inline bool owns_all(const OrderBox& box) {
  bool owns = true;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    owns = owns && box.all.range[axis].begin == box.owned.range[axis].begin;
  }
  return owns;
}

/// How many of the lowest `log` bits of a position in its tile are an axis'.
inline int bits_of_axis(const GridOrder& order, int axis, int log) {
  return std::clamp(log - order.shift[axis], 0, order.bits[axis]);
}

/// The box of 2^log positions from a multiple of 2^log on: a tile, or a part of one.
inline OrderBox box_of(const GridOrder& order, int position, int log) {
  OrderBox box;
  const GridOrder::TilePlace tile = order.place_of_tile(position >> kOrderTileBits);
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const int of_axis = tile.of_axis[axis];
    const int inner = position >> order.shift[axis] & (order.tile_extent(axis) - 1);
    const int begin = order.begin_of_tile(axis, of_axis) + inner;
    const int end = begin + (1 << bits_of_axis(order, axis, log));
    box.all.range[axis] = {begin, end};
    box.owned.range[axis] = {most_of(begin, of_axis << order.bits[axis]), end};
  }
  return box;
}

/// The part, as a power of two, that begins at a position and reaches no further than `end`.
inline int log_of_part(int position, int end) {
  const int room = std::bit_width(static_cast<unsigned>(end - position)) - 1;
  return std::min({kOrderTileBits, room, std::countr_zero(static_cast<unsigned>(position))});
}

inline int token_at(const GridOrder& order, int at0, int at1, int at2) {
  return (at0 * order.extent[1] + at1) * order.extent[2] + at2;
}

/// From a box's first token to its last.
inline Range token_span(const GridOrder& order, const Box& box) {
  const Range* const range = box.range;
  return {token_at(order, range[0].begin, range[1].begin, range[2].begin),
          token_at(order, range[0].end - 1, range[1].end - 1, range[2].end - 1) + 1};
}

/// Whether flat zone and grid say all that the term shows, axis by axis of the order.
inline bool is_of_order(const GridOrder& order, const Term& term) {
  if (!term.is_closed_form()) return false;
  bool has_same = true;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const int extent = axis < term.grid.axes ? term.grid.extent[axis] : 1;
    has_same = has_same && extent == order.extent[axis];
  }
  return has_same || term.grid.axes == 0;
}

/// Of a term that is_of_order(): its grid, or the one on which every pair is.
inline Grid grid_of_order(const GridOrder& order, const Term& term) {
  if (term.grid.axes != 0) return term.grid;
  Grid grid;
  grid.axes = kOrderAxes;
  std::copy(std::begin(order.extent), std::end(order.extent), std::begin(grid.extent));
  return grid;
}

/// hull() and core() on the order's grid alone.
inline Box inside(const GridOrder& order, Box box) {
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    box.range[axis] = overlap(box.range[axis], {0, order.extent[axis]});
  }
  return box;
}

}  // namespace sparkbench
