// Which scores a lane owns after S = Q K^T, by the type of the accumulator (fragment.h). Softmax,
// mask and dropout are written once over this map.
//
// A warp covers 32 query rows: quad-pair p has rows 8p..8p+7, and every quad-pair sees the same
// keys. FP16-ACC: a lane owns one row, all eight columns of every 8-key group. FP32-ACC: a lane
// owns half of two rows; lane ^ 2 owns the other half.
#pragma once

#include "kernels/tile/fragment.h"

namespace sparkbench {

template <Accumulator kAccumulator>
struct RowLayout;

template <>
struct RowLayout<Accumulator::kFp16> {
  static constexpr int kRowsPerLane = 1;
  static constexpr int kLanesPerRow = 1;
  /// Which of the lane's rows element i of a group belongs to.
  SPARK_HD static constexpr int slot(int /*i*/) { return 0; }
  /// Row of that slot in the warp's 32.
  SPARK_HD static int row(int lane, int /*slot*/) { return 8 * quad_pair(lane) + owned_row(lane); }
  /// Column of element i in its group of 8 keys.
  SPARK_HD static int column(int /*lane*/, int i) { return i; }
  /// The slot of the row that the lane holds of an A fragment.
  SPARK_HD static int operand_slot(int /*lane*/) { return 0; }
};

template <>
struct RowLayout<Accumulator::kFp32> {
  static constexpr int kRowsPerLane = 2;
  static constexpr int kLanesPerRow = 2;
  SPARK_HD static constexpr int slot(int i) { return (i >> 1) & 1; }
  SPARK_HD static int row(int lane, int slot) {
    return 8 * quad_pair(lane) + fp32_row(lane, 2 * slot);
  }
  SPARK_HD static int column(int lane, int i) { return fp32_column(lane, i); }
  SPARK_HD static int operand_slot(int lane) { return (lane >> 1) & 1; }
};

/// Combines a per-row value over the lanes that share the row.
template <Accumulator kAccumulator, class Machine, class Combine>
SPARK_DEVICE float reduce_row(Machine& machine, float value, Combine combine) {
  if constexpr (RowLayout<kAccumulator>::kLanesPerRow == 2) {
    value = combine(value, machine.shuffle_xor(value, 2));
  }
  return value;
}

}  // namespace sparkbench
