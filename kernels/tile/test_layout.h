// A Layout besides Volta's, so that this folder's headers are tested as what they are: templates
// over one. The C fragment of mma.m16n8k16 in FP32: 16 rows and 8 keys a step.
#pragma once

#include <cmath>

#include "kernels/machine/mma/m16n8k16.h"
#include "kernels/tile/layout.h"

namespace sparkbench {

struct M16n8k16Layout {
  using Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;

  static constexpr int kStepKeys = 8;
  static constexpr int kElements = 4;
  static constexpr int kStrands = 2;
  static constexpr int kStrandElements = 2;
  static constexpr int kRowsPerLane = 2;
  static constexpr int kOtherRowLane = 0;

  static constexpr int element(int strand, int n) { return 2 * strand + n; }
  static constexpr int strand_of(int element) { return element / 2; }
  static constexpr int key(int n) { return n; }
  static constexpr int slot(int strand) { return strand; }
  static int row(int lane, int slot) { return m16n8k16::c_row(lane, 2 * slot); }
  static int pair(int lane, int /*strand*/) { return lane & 3; }

  template <class Machine>
  static void widen(const Machine& /*machine*/, const Fragment& fragment, float (&value)[4]) {
    for (int i = 0; i < 4; ++i) value[i] = fragment.element[i];
  }
  static void hide(Fragment& fragment, int element) { fragment.element[element] = -INFINITY; }
  template <class Machine, int kSteps>
  static void largest(const Machine& /*machine*/, const Fragment (&score)[kSteps],
                      float (&value)[2]) {
    for (int slot = 0; slot < 2; ++slot) {
      value[slot] = -INFINITY;
      for (const Fragment& step : score) {
        value[slot] = fmaxf(value[slot], fmaxf(step.element[2 * slot], step.element[2 * slot + 1]));
      }
    }
  }
  template <class Machine, class Combine>
  static float reduce_row(Machine& machine, float value, Combine combine) {
    value = combine(value, machine.shuffle_xor(value, 1));
    return combine(value, machine.shuffle_xor(value, 2));
  }
};

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
