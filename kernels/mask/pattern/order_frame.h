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

/// Which tile of each axis a tile of an order is. Divides by shifts where it can.
struct PlaceOfTile {
  int of_axis[kOrderAxes];
};
class TilePlaces {
 public:
  explicit TilePlaces(const GridOrder& order)
      : middle_(order.tiles_of_axis(1)), inner_(order.tiles_of_axis(2)) {}
  PlaceOfTile of(int tile) const {
    const int lines = inner_(tile), planes = middle_(lines);
    return {{planes, lines - planes * middle_.divisor(), tile - lines * inner_.divisor()}};
  }

 private:
  DivideBy middle_, inner_;
};

/// How a grid's order lies.
struct OrderFrame {
  GridOrder order;
  TilePlaces places;
  int log;  // parts of 2^log keys are such that no tile begins or ends within one
  int tokens = order.tokens();
  int pitch[kOrderAxes];  // tokens, as order.pitch() has them
  // Tiles of the innermost axis that has several lie side by side, those of the next one in lines.
  int joined;
  int tiles_of_line, line;  // line: positions
  DivideBy tokens_of_tile;  // from a tile of a line to the next one
  DivideBy plane;           // tokens of the outermost axis' pitch

  OrderFrame(const GridOrder& of_order, int tile_keys);

  /// Of rows that are not empty, into `found`, of which the room is used again.
  void find_boxes(const Range& rows, OrderedRows& found) const;

 private:
  bool find_tiles_of_line(const Range& rows, OrderedRows& found) const;
};

}  // namespace sparkbench
