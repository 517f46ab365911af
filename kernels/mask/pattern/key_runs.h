// The keys that a term shows to some rows, as intervals (runs): the step from zones to tiles.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/run_lines.h"

namespace sparkbench {

/// Finds the key intervals of a head's pattern for one tile of rows after the other. Each touched
/// tile has a visible pair, unless arrays leave gaps or a grid is cut by a flat zone or by arrays.
/// Leaves out a grid's intervals that fill no tile by themselves.
class KeyRunFinder {
 public:
  /// Tiles have `tile_keys` keys. The pattern must outlive this.
  KeyRunFinder(const Pattern& pattern, int head, int tile_keys);

  /// `rows` is a range of row indices within the sequence, not empty.
  void find(const Range& rows, KeyRuns& runs) const;

 private:
  void add(const Term& term, const Range& rows, KeyRuns& runs) const;

  const Pattern& pattern_;
  const std::vector<Term>& terms_;
  int tile_keys_;
};

}  // namespace sparkbench
