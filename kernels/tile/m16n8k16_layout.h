// The C fragment of mma.m16n8k16 in FP32 as a Layout (layout.h): 16 rows and 8 keys per step. A
// warp's accumulators of a wgmma are the same fragments, adjacent.
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

  SPARK_HD static constexpr int element(int strand, int n) { return 2 * strand + n; }
  SPARK_HD static constexpr int strand_of(int element) { return element / 2; }
  SPARK_HD static constexpr int key(int n) { return n; }
  SPARK_HD static constexpr int slot(int strand) { return strand; }
  SPARK_HD static int row(int lane, int slot) { return m16n8k16::c_row(lane, 2 * slot); }
  SPARK_HD static int pair(int lane, int /*strand*/) { return lane & 3; }

  template <class Machine>
  SPARK_DEVICE static void widen(const Machine& /*machine*/, const Fragment& fragment,
                                 float (&value)[kElements]) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) value[i] = fragment.element[i];
  }
  SPARK_DEVICE static void hide(Fragment& fragment, int element) {
    fragment.element[element] = -INFINITY;
  }
  template <class Machine, int kSteps>
  SPARK_DEVICE static void largest(const Machine& /*machine*/, const Fragment (&score)[kSteps],
                                   float (&value)[kRowsPerLane]) {
#pragma unroll
    for (int slot = 0; slot < kRowsPerLane; ++slot) {
      value[slot] = -INFINITY;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const float* const pair = score[step].element + 2 * slot;
        value[slot] = fmaxf(value[slot], fmaxf(pair[0], pair[1]));
      }
    }
  }
  /// The same, or 0 if all are below 0, in half of the instructions.
  template <class Machine, int kSteps>
  SPARK_DEVICE static void largest_from_zero(const Machine& machine,
                                             const Fragment (&score)[kSteps],
                                             float (&value)[kRowsPerLane]) {
#pragma unroll
    for (int slot = 0; slot < kRowsPerLane; ++slot) {
      value[slot] = 0.0f;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const float* const pair = score[step].element + 2 * slot;
        value[slot] = machine.max_from_zero(value[slot], pair[0], pair[1]);
      }
    }
  }
  template <class Machine, class Combine>
  SPARK_DEVICE static float reduce_row(Machine& machine, float value, Combine combine) {
    value = combine(value, machine.shuffle_xor(value, 1));
    return combine(value, machine.shuffle_xor(value, 2));
  }
};

}  // namespace sparkbench
