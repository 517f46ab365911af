// For tests: the plan of closed forms, run by run. A grid's runs are enumerated for each tile of
// rows, and so are the tiles of its order; plan() has lines of them instead, and the same spans.
#pragma once

#include <vector>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench::enumerated {

struct EnumeratedRuns {
  std::vector<Range> touched;  // tiles
  std::vector<Range> full;     // keys
};

/// Whether all terms of the head are closed forms, and axis by axis those of the order if it has
/// one.
bool can_be_enumerated(const Pattern& pattern, int head);

/// plan() of such a head.
TilePlan enumerated_plan(const Pattern& pattern, int head, int rows, int keys);

/// Of a term in the order of a grid.
void add_enumerated_ordered_runs(const Pattern& pattern, const Term& term, const Range& rows,
                                 int tile_keys, EnumeratedRuns& runs);

}  // namespace sparkbench::enumerated
