// The four quad-pairs of a warp as a 2 x 2 grid, so that one warp instruction is a 16x16x4 product
// and every operand fragment that a lane loads serves several of them.
//
// Quad-pair (r, c), r = bit 3 and c = bit 2 of the lane, multiplies rows 8r..8r+7 of A by columns
// 8c..8c+7 of B. In S = Q K^T the columns are keys, and which key a column is was chosen for what
// comes after. The columns of quad-pair c in step s (16 keys) are
//   column n = 0..7 of quad-pair c   key 16 s + 8 (n >> 2) + 4 c + (n & 3)
// so that a lane holds, of each step, whole *quartets* of one row: the keys
//   16 s + 2 j + {0, 1} and 16 s + 8 + 2 j + {0, 1}
// of one pair j of 0..3. A block of the dropout mask (kernels/problem/dropout.h) has the pair j of
// a row, and of the row 8 below, in all steps of 64 keys. And in O = P V a quartet is the four k of
// one m8n8k4.
#pragma once

#include <cmath>

#include "kernels/base/half.h"
#include "kernels/tile/layout.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {

/// Rows, and columns, of one warp product.
inline constexpr int kGridRows = 16;
inline constexpr int kGridColumns = 16;
/// Quartets of four keys that a lane holds of each step.
inline constexpr int kQuartets = 2;

SPARK_HD int grid_row_half(int lane) { return (lane >> 3) & 1; }
SPARK_HD int grid_column_half(int lane) { return (lane >> 2) & 1; }

/// The row, 0..15, that this lane feeds as A (row-major).
SPARK_HD int grid_operand_row(int lane) { return 8 * grid_row_half(lane) + owned_row(lane); }

/// The key of its step, 0..15, that this lane feeds as B (column-major).
SPARK_HD int grid_operand_key(int lane) {
  return 8 * (lane >> 4) + 4 * grid_column_half(lane) + (lane & 3);
}

SPARK_HD constexpr int quartet_element(int quartet, int h, int e) {
  return 4 * h + 2 * quartet + e;
}
SPARK_HD constexpr int quartet_of(int element) { return (element >> 1) & 1; }

/// Which rows and keys of a 16x16 tile of scores a lane holds, by the type of the accumulator: a
/// Layout (kernels/tile/layout.h) whose strands are the quartets. Quartet q of a lane's eight
/// elements is elements 4h + 2q + e, the key's 8h + 2j + e, h and e 0 or 1.
template <Accumulator kAccumulator>
struct GridLayout;

/// Shared by both layouts.
struct QuartetLayout {
  static constexpr int kStepKeys = kGridColumns;
  static constexpr int kElements = 8;
  static constexpr int kStrands = kQuartets;
  static constexpr int kStrandElements = 4;
  static constexpr int kOtherRowLane = 8;  // bit 3 of a row is grid_row_half()
  SPARK_HD static constexpr int element(int strand, int n) {
    return quartet_element(strand, n >> 1, n & 1);
  }
  SPARK_HD static constexpr int strand_of(int element) { return quartet_of(element); }
  SPARK_HD static constexpr int key(int n) { return 8 * (n >> 1) + (n & 1); }

  template <class Machine, class Fragment>
  SPARK_DEVICE static void widen(const Machine& machine, const Fragment& fragment,
                                 float (&value)[8]) {
    sparkbench::widen(machine, fragment, value);
  }
};

template <>
struct GridLayout<Accumulator::kFp16> : QuartetLayout {
  using Fragment = AccumulatorFragment<Accumulator::kFp16>;

  static constexpr int kRowsPerLane = 1;
  SPARK_HD static constexpr int slot(int /*quartet*/) { return 0; }
  SPARK_HD static int row(int lane, int /*slot*/) { return grid_operand_row(lane); }
  /// The pair j of a quartet.
  SPARK_HD static int pair(int lane, int quartet) { return ((lane >> 1) & 2) + quartet; }
  /// Selects, from a value per row of the lane, that of the row which the lane feeds as operand A.
  SPARK_HD static float of_operand_row(int /*lane*/, const float (&value)[1]) { return value[0]; }

  SPARK_HD static void hide(Fragment& fragment, int element) {
    std::uint32_t& pair = fragment.pair[element / 2];
    pair = element % 2 == 0 ? (pair & 0xffff0000) | 0xfc00 : (pair & 0xffff) | 0xfc000000;
  }
  /// Before they are widened: a pair of halves, taken for the bits of a float, is ordered as its
  /// upper half is. A NaN may be taken for the largest.
  template <class Machine, int kSteps>
  SPARK_DEVICE static void largest(const Machine& machine, const Fragment (&score)[kSteps],
                                   float (&value)[1]) {
    float upper = float_from_bits(score[0].pair[0]);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (const std::uint32_t pair : score[step].pair) {
        upper = fmaxf(upper, fmaxf(float_from_bits(pair), float_from_bits(pair << 16)));
      }
    }
    value[0] = machine.high_half(float_bits(upper));
  }
  template <class Machine, class Combine>
  SPARK_DEVICE static float reduce_row(Machine& machine, float value, Combine combine) {
    return combine(value, machine.shuffle_xor(value, 4));
  }
};

template <>
struct GridLayout<Accumulator::kFp32> : QuartetLayout {
  using Fragment = AccumulatorFragment<Accumulator::kFp32>;

  static constexpr int kRowsPerLane = 2;
  SPARK_HD static constexpr int slot(int quartet) { return quartet; }
  SPARK_HD static int row(int lane, int slot) {
    return 8 * grid_row_half(lane) + fp32_row(lane, 2 * slot);
  }
  SPARK_HD static int pair(int lane, int /*quartet*/) {
    return (lane >> 1) & 3;  // twice the column half, and which half of the quad-pair's columns
  }
  // Selected, not indexed by the lane: that would put the array in local memory.
  SPARK_HD static float of_operand_row(int lane, const float (&value)[2]) {
    return (lane & 2) != 0 ? value[1] : value[0];
  }

  SPARK_HD static void hide(Fragment& fragment, int element) {
    fragment.element[element] = -INFINITY;
  }
  /// A NaN may be taken for the largest.
  template <class Machine, int kSteps>
  SPARK_DEVICE static void largest(const Machine& /*machine*/, const Fragment (&score)[kSteps],
                                   float (&value)[2]) {
#pragma unroll
    for (float& of_row : value) of_row = -INFINITY;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& of_row = value[quartet_of(i)];
        of_row = fmaxf(of_row, score[step].element[i]);
      }
    }
  }
  template <class Machine, class Combine>
  SPARK_DEVICE static float reduce_row(Machine& machine, float value, Combine combine) {
    value = combine(value, machine.shuffle_xor(value, 2));
    return combine(value, machine.shuffle_xor(value, 4));
  }
};

}  // namespace sparkbench
