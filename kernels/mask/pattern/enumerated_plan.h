// For tests: the plan of closed forms, run by run. It enumerates a grid's runs for each tile of
// rows; plan() keeps them as lines, and gives the same spans.
#pragma once

#include <vector>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench::enumerated {

struct EnumeratedRuns {
  std::vector<Range> touched;  // tiles
  std::vector<Range> full;     // keys
};

/// Whether all terms of the head are closed forms.
bool can_be_enumerated(const Pattern& pattern, int head);

/// plan() for a head that can be enumerated.
TilePlan enumerated_plan(const Pattern& pattern, int head, int rows, int keys);

}  // namespace sparkbench::enumerated
