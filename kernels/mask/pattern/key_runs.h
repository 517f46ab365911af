// What a term shows to some rows, as runs of keys: the step from zones to tiles.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/run_lines.h"

namespace sparkbench {

/// Finds those of a head's union, for one tile of rows after the other. No touched tile is without
/// a visible pair, unless arrays leave gaps or a grid is cut by a flat zone or by arrays. Of the
/// runs of a grid those are left out that fill no tile by themselves.
class KeyRunFinder {
 public:
  /// Tiles are of `tile_keys`. The pattern outlives this.
  KeyRunFinder(const Pattern& pattern, int head, int tile_keys);

  /// Of rows that are a range of indices within the sequence, and not empty.
  void find(const Range& rows, KeyRuns& runs) const;

 private:
  void add(const Term& term, const Range& rows, KeyRuns& runs) const;

  const Pattern& pattern_;
  const std::vector<Term>& terms_;
  int tile_keys_;
};

}  // namespace sparkbench
