// Online softmax (online_softmax.h) of a warp's 32 rows, one tile of keys in parts, so that the
// exponentials of some keys can wait until tensor cores have work to overlap them with:
//   TileSoftmax     m with the tile's scores; what it makes of earlier sums, and of the exponents
//   exponentials()  of some steps of keys, adding them to the tile's sums
//   add()           l with the tile's sums
// FP32-ACC, where four lanes share four rows, keeps each row's m and l in one of them: six
// registers less than all of them in all four, for six shuffles a tile more.
#pragma once

#include <cmath>

#include "kernels/tile/online_softmax.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {

/// A value for each row of a warp that a lane holds scores of.
template <Accumulator kAccumulator>
struct WarpRowValues {
  static constexpr int kRows = GridLayout<kAccumulator>::kRowsPerLane;

  float of[kRowGroups][kRows];
};

/// The largest score of a tile in each row, of this lane's keys. A NaN may be taken for one.
template <class Machine, int kSteps>
SPARK_DEVICE WarpRowValues<Accumulator::kFp32> lane_maxima(
    const Machine& /*machine*/,
    const AccumulatorFragment<Accumulator::kFp32> (&score)[kRowGroups][kSteps]) {
  WarpRowValues<Accumulator::kFp32> largest;
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
    for (float& value : largest.of[g]) value = -INFINITY;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& value = largest.of[g][GridLayout<Accumulator::kFp32>::slot(quartet_of(i))];
        value = fmaxf(value, score[g][step].element[i]);
      }
    }
  }
  return largest;
}
/// Of halves, before they are widened: a pair of them, taken for the bits of a float, is ordered as
/// its upper half is.
template <class Machine, int kSteps>
SPARK_DEVICE WarpRowValues<Accumulator::kFp16> lane_maxima(
    const Machine& machine,
    const AccumulatorFragment<Accumulator::kFp16> (&score)[kRowGroups][kSteps]) {
  WarpRowValues<Accumulator::kFp16> largest;
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    float upper = float_from_bits(score[g][0].pair[0]);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (const std::uint32_t pair : score[g][step].pair) {
        upper = fmaxf(upper, fmaxf(float_from_bits(pair), float_from_bits(pair << 16)));
      }
    }
    largest.of[g][0] = machine.high_half(float_bits(upper));
  }
  return largest;
}

/// m and l of a row; as `m` includes a tile, what it asks of that tile and of what came before.
template <class Scale>
struct RunningRow {
  float m = -INFINITY;  // largest score so far; -inf before the first visible key
  float l = 0.0f;       // sum of exp(scale * (score - m)) 2^kLog2

  /// exp(scale * (score - m)) 2^kLog2 = exp2(scale_log2 * score + offset); earlier sums and outputs
  /// times `rescale`. A row that has seen no key yet gives zeros.
  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, float largest, float scale_log2, float& rescale,
                            float& offset) {
    largest = fmaxf(m, largest);
    const float reference = largest == -INFINITY ? 0.0f : largest;
    rescale = machine.exp2((m - reference) * scale_log2);
    offset = machine.fma(-reference, scale_log2, Scale::kLog2);
    m = largest;
    l *= rescale;
  }
};

/// What a 16-row group ended with, as OnlineSoftmax tells it.
template <Accumulator kAccumulator, class Scale>
struct FinishedRows {
  static constexpr int kRows = GridLayout<kAccumulator>::kRowsPerLane;

  float m[kRows], l[kRows];

  template <class Machine>
  SPARK_DEVICE float row_sum(Machine& /*machine*/, int slot) const {
    return Scale::kInverse * l[slot];
  }
};

/// m and l of a warp's 32 rows over the tiles of keys.
template <Accumulator kAccumulator, class Scale>
class RunningRows;

/// A lane holds one row of either group, and its l over its own keys only.
template <class Scale>
class RunningRows<Accumulator::kFp16, Scale> {
 public:
  using Values = WarpRowValues<Accumulator::kFp16>;

  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      const float of_row = reduce_grid_row<Accumulator::kFp16>(
          machine, largest.of[g][0], [](float a, float b) { return fmaxf(a, b); });
      row_[g].include(machine, of_row, scale_log2, rescale.of[g][0], offset.of[g][0]);
    }
  }
  SPARK_DEVICE Values initial_sum() const { return {}; }
  template <class Machine>
  SPARK_DEVICE void add(Machine& /*machine*/, const Values& sum) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) row_[g].l += sum.of[g][0];
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<Accumulator::kFp16, Scale> finished(Machine& machine, int g) const {
    return {{row_[g].m},
            {reduce_grid_row<Accumulator::kFp16>(machine, row_[g].l,
                                                 [](float a, float b) { return a + b; })}};
  }

 private:
  RunningRow<Scale> row_[kRowGroups];
};

/// Of the four lanes that differ in bits 1 and 2, each keeps the row of slot (bit 1), group (bit
/// 2).
template <class Scale>
class RunningRows<Accumulator::kFp32, Scale> {
 public:
  using Values = WarpRowValues<Accumulator::kFp32>;

  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset) {
    const float of_row =
        combine_own_row(machine, largest, [](float a, float b) { return fmaxf(a, b); });
    float own_rescale, own_offset;
    row_.include(machine, of_row, scale_log2, own_rescale, own_offset);
    offset = of_all_rows(machine, own_offset);
    rescale = of_all_rows(machine, own_rescale);
  }
  SPARK_DEVICE Values initial_sum() const { return {}; }
  template <class Machine>
  SPARK_DEVICE void add(Machine& machine, const Values& sum) {
    row_.l += combine_own_row(machine, sum, [](float a, float b) { return a + b; });
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<Accumulator::kFp32, Scale> finished(Machine& machine, int g) const {
    const Values m = of_all_rows(machine, row_.m), l = of_all_rows(machine, row_.l);
    return {{m.of[g][0], m.of[g][1]}, {l.of[g][0], l.of[g][1]}};
  }

 private:
  /// The four lanes' values of the row that this lane keeps (a reduce-scatter).
  template <class Machine, class Combine>
  SPARK_DEVICE static float combine_own_row(Machine& machine, const Values& value,
                                            Combine combine) {
    const bool keeps_slot_1 = (machine.lane() & 2) != 0, keeps_group_1 = (machine.lane() & 4) != 0;
    float of_slot[kRowGroups];
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      const float kept = keeps_slot_1 ? value.of[g][1] : value.of[g][0];
      const float given = keeps_slot_1 ? value.of[g][0] : value.of[g][1];
      of_slot[g] = combine(kept, machine.shuffle_xor(given, 2));
    }
    const float kept = keeps_group_1 ? of_slot[1] : of_slot[0];
    const float given = keeps_group_1 ? of_slot[0] : of_slot[1];
    return combine(kept, machine.shuffle_xor(given, 4));
  }

  template <class Machine>
  SPARK_DEVICE static Values of_all_rows(Machine& machine, float own) {
    Values value;
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Values::kRows; ++slot) {
        value.of[g][slot] = machine.template shuffle_among<6>(own, 2 * slot + 4 * g);
      }
    }
    return value;
  }

  RunningRow<Scale> row_;
};

/// One tile of scores on its way to probabilities. l follows its sums in add() of the rows, which
/// are RunningRows or LaneRows (lane_rows.h).
template <Accumulator kAccumulator>
struct TileSoftmax {
  WarpRowValues<kAccumulator> rescale;  // of earlier sums and outputs
  WarpRowValues<kAccumulator> offset;   // of the exponents
  WarpRowValues<kAccumulator> sum;      // of this lane's probabilities so far

  template <class Machine, int kSteps, class Rows>
  SPARK_DEVICE TileSoftmax(Machine& machine,
                           const AccumulatorFragment<kAccumulator> (&score)[kRowGroups][kSteps],
                           float scale_log2, Rows& rows) {
    rows.include(machine, lane_maxima(machine, score), scale_log2, rescale, offset);
    sum = rows.initial_sum();
  }

  /// Probabilities 2^kLog2 of the scores of steps [first_step, end_step).
  template <class Machine, int kSteps>
  SPARK_DEVICE void exponentials(
      Machine& machine, const AccumulatorFragment<kAccumulator> (&score)[kRowGroups][kSteps],
      int first_step, int end_step, float scale_log2, float (&p)[kRowGroups][kSteps][8]) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int step = first_step; step < end_step; ++step) {
        widen(machine, score[g][step], p[g][step]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int slot = GridLayout<kAccumulator>::slot(quartet_of(i));
          float& value = p[g][step][i];
          value = machine.exp2(machine.fma(value, scale_log2, offset.of[g][slot]));
          sum.of[g][slot] += value;
        }
      }
    }
  }
};

}  // namespace sparkbench
