// Tests on the emulator or on a GPU that take minutes and are left to the nightly run, `ctest -C
// nightly -L nightly`.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace sparkbench {

/// CTest sets the variable for its configuration `nightly`.
inline bool is_nightly() { return std::getenv("SPARKBENCH_NIGHTLY") != nullptr; }

/// A list of parameters: `always`, and nightly `more`, too.
template <class T>
std::vector<T> with_nightly(std::vector<T> always, const std::vector<T>& more) {
  if (is_nightly()) always.insert(always.end(), more.begin(), more.end());
  return always;
}

/// Thins a table of cases out: every `share`-th cell of each row and column is tried, nightly every
/// cell. `cell` is the sum of the cell's indices.
inline bool is_tried(std::size_t cell, std::size_t share) {
  return is_nightly() || cell % share == 0;
}

}  // namespace sparkbench
