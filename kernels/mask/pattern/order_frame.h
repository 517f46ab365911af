// How the order of a grid lies, and which tokens a tile of rows owns in it: a box or two.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/run_lines.h"

namespace sparkbench {

inline bool are_same(const Range& a, const Range& b) {
  return a.begin == b.begin && a.end == b.end;
}

/// Boxes of the tokens that some rows own.
struct OrderedRows {
  std::vector<Box> boxes;
  bool own_all = true;
  Range span = {kUnbounded, -kUnbounded};  // from the first token to the last
};

/// GridOrder::place_of_tile(), which divides by shifts where it can.
class TilePlaces {
 public:
  explicit TilePlaces(const GridOrder& order)
      : first_axis_(order.counted_first),
        next_axis_(order.counted_next()),
        last_axis_(order.counted_last()),
        first_(order.tiles_of_axis(first_axis_)),
        next_(order.tiles_of_axis(next_axis_)) {}
  GridOrder::TilePlace of(int tile) const {
    const int line = first_(tile), plane = next_(line);
    GridOrder::TilePlace place;
    place.of_axis[first_axis_] = tile - line * first_.divisor();
    place.of_axis[next_axis_] = line - plane * next_.divisor();
    place.of_axis[last_axis_] = plane;
    return place;
  }

 private:
  int first_axis_, next_axis_, last_axis_;
  DivideBy first_, next_;
};

/// The axis on which tiles that follow each other are neighbours: of those that have several, the
/// one that is counted first.
inline int joined_axis(const GridOrder& order) {
  if (order.tiles_of_axis(order.counted_first) > 1) return order.counted_first;
  const int next = order.counted_next();
  return order.tiles_of_axis(next) > 1 ? next : order.counted_last();
}

/// How a grid's order lies.
struct OrderFrame {
  GridOrder order;
  TilePlaces places;
  int log;  // parts of 2^log keys are such that no tile begins or ends within one
  int tokens = order.tokens();
  int pitch[kOrderAxes];  // tokens, as order.pitch() has them
  // Tiles of an axis lie side by side, in lines; lines of the next axis too, and of the outer one
  // each time as many.
  int joined, next, outer;
  int tiles_of_line, line;  // line: positions
  DivideBy tokens_of_tile;  // from a tile of a line to the next one
  DivideBy plane;           // tokens of the outermost axis' pitch

  OrderFrame(const GridOrder& of_order, int tile_keys);

  /// Of rows that are not empty, into `found`, of which the room is used again.
  void find_boxes(const Range& rows, OrderedRows& found) const;

 private:
  bool find_tiles_of_line(const Range& rows, OrderedRows& found) const;
};

/// Of a pattern's rows and of its keys, whose tiles are alike.
struct OrderFrames {
  OrderFrame of_rows, of_keys;
};

}  // namespace sparkbench
