// What a term shows to some rows, as runs of keys: the step from zones to tiles.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Key indices in [0, seqlen_k). Runs may touch and overlap, and come in any order.
struct KeyRuns {
  std::vector<Range> touched;  // hold every key that some row sees
  std::vector<Range> full;     // hold keys that each row sees, and no other

  void clear() {
    touched.clear();
    full.clear();
  }
};

/// Adds those of a term over the rows, a range of indices within the sequence that is not empty.
/// Runs that no tile of `tile_keys` lies between may be joined. No tile that `touched` reaches is
/// without a visible pair, unless arrays leave gaps or a grid is cut by a flat zone or by arrays.
void add_key_runs(const Pattern& pattern, const Term& term, const Range& rows, int tile_keys,
                  KeyRuns& runs);

}  // namespace sparkbench
