// key_runs.h where a pattern's rows and keys are numbered in the order of a grid: a tile of rows is
// a box or two, and so is a tile of keys.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/run_lines.h"

namespace sparkbench {

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

/// Boxes of the tokens that some rows own.
struct OrderedRows {
  std::vector<Box> boxes;
  bool own_all = true;
  Range span = {kUnbounded, -kUnbounded};  // from the first token to the last
};

/// Of rows that are not empty, into `found`, of which the room is used again.
void find_boxes(const GridOrder& order, const Range& rows, OrderedRows& found);

/// How a grid's order lies.
struct OrderFrame {
  GridOrder order;
  int log;  // parts of 2^log keys are such that no tile begins or ends within one
  int tokens = order.tokens();
  // Tiles of the innermost axis that has several lie side by side, those of the next one in lines.
  int joined = kOrderAxes - 1;
  int line = 0;  // positions

  OrderFrame(const GridOrder& of_order, int tile_keys);
};

/// The runs of a term that is_of_order() (order_boxes.h). A touched tile is without a visible pair
/// only where flat zones cut the grid. What rows see is a product over the axes, and of each axis
/// it is worked out once for its tiles, instead of once for each tile of rows.
class OrderedRuns {
 public:
  /// The term outlives this.
  OrderedRuns(const GridOrder& order, const Term& term, int tile_keys);

  void add(const OrderedRows& rows, KeyRuns& runs);

 private:
  /// What rows of an axis see of its keys: some of them and each.
  struct OfAxis {
    Range rows = {0, 0};
    Range hull, core;
    TilesOfAxis some, each;
  };

  const OfAxis& of_axis(int axis, const Range& rows);
  void add_touched(const RunLines& keys, KeyRuns& runs) const;

  OrderFrame frame_;
  const Zone& flat_;
  Grid grid_;
  DivideBy tile_;
  std::vector<OfAxis> of_axis_[kOrderAxes];  // by the tile with the first row, the last asked for
};

}  // namespace sparkbench
