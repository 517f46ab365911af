// key_runs.h where a pattern's rows and keys are numbered in the order of a grid: a tile of rows is
// a box or two, and so is a tile of keys.
#pragma once

#include "kernels/mask/pattern/key_runs.h"

namespace sparkbench {

/// add_key_runs() of a term that is_of_order() (order_boxes.h). A touched tile is without a visible
/// pair only where flat zones cut the grid.
void add_ordered_runs(const Pattern& pattern, const Term& term, const Range& rows, int tile_keys,
                      KeyRuns& runs);

}  // namespace sparkbench
