// key_runs.h where a pattern's rows and keys are numbered in the order of a grid: a tile of rows is
// a box or two, and so is a tile of keys.
#pragma once

#include <vector>

#include "kernels/mask/pattern/order_frame.h"
#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/run_lines.h"
#include "kernels/mask/pattern/tiles_of_axis.h"

namespace sparkbench {

/// The runs of a term that is_of_order() (order_boxes.h). A touched tile is without a visible pair
/// only where flat zones cut the grid. What rows see is a product over the axes, and of each axis
/// it is worked out once for its tiles, instead of once for each tile of rows.
class OrderedRuns {
 public:
  /// Frames and term outlive this.
  OrderedRuns(const OrderFrames& frames, const Term& term, int tile_keys, WantedRuns wanted);

  void add(const OrderedRows& rows, KeyRuns& runs);

 private:
  /// What rows of an axis see of its keys: some of them and each.
  struct OfAxis {
    Range rows = {0, 0};
    Range hull, core;
    TilesOfAxis some, each;
  };
  /// The runs that were found last, and of what: rows, and of the axis of lines what they see.
  struct LastRuns {
    bool is_there = false, own_all = false;
    Box rows;
    Range hull, core;
    KeyRuns runs;
  };

  const OfAxis& of_axis(int axis, const Range& rows);
  void find_of_axis(int axis, const Range& rows, OfAxis& found) const;
  void add_found(const OrderedRows& rows, KeyRuns& runs);
  void add_touched(const RunLines& keys, KeyRuns& runs) const;

  const OrderFrame &of_rows_, &of_keys_;
  const Zone& flat_;
  Grid grid_;
  DivideBy tile_;
  WantedRuns wanted_;
  // By the tile with the first row, the last asked for; of the outer axis, to whose rows none comes
  // back, that one alone.
  std::vector<OfAxis> of_axis_[kOrderAxes];
  // Where tiles of rows side by side see alike, as those do that see summaries of lines.
  bool sees_alike_;
  LastRuns last_;
};

}  // namespace sparkbench
