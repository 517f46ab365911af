// What a term shows to some rows, as runs of keys: the step from zones to tiles.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Runs may touch and overlap, and come in any order.
struct KeyRuns {
  std::vector<Range> touched;  // tiles that have every key that some row sees
  std::vector<Range> full;     // keys that each row sees, by index: enough of them to fill a tile

  void clear() {
    touched.clear();
    full.clear();
  }
};

/// In order, and those that meet as one.
void join(std::vector<Range>& runs);

/// Adds those of a term over the rows, a range of indices within the sequence that is not empty.
/// Tiles are of `tile_keys`. No touched tile is without a visible pair, unless arrays leave gaps or
/// a grid is cut by a flat zone or by arrays. Of the runs of a grid those are left out that fill no
/// tile by themselves.
void add_key_runs(const Pattern& pattern, const Term& term, const Range& rows, int tile_keys,
                  KeyRuns& runs);

}  // namespace sparkbench
