// For tests: row and key of a fragment's element, by its Layout.
#pragma once

#include "kernels/tile/m16n8k16_layout.h"

namespace sparkbench {

/// The key of element i of a step, from the first of the fragment's.
template <class Layout>
int key_of(int lane, int step, int i) {
  const int strand = Layout::strand_of(i);
  for (int n = 0; n < Layout::kStrandElements; ++n) {
    if (Layout::element(strand, n) != i) continue;
    return Layout::kStepKeys * step + 2 * Layout::pair(lane, strand) + Layout::key(n);
  }
  return -1;
}
template <class Layout>
int row_of(int lane, int i) {
  return Layout::row(lane, Layout::slot(Layout::strand_of(i)));
}

}  // namespace sparkbench
