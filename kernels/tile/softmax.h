// Online softmax (Milakov and Gimelshein, arXiv 1805.02867; paper, section 3.2.1, equation 3) of a
// warp's rows, one tile of keys in parts, so that the exponentials of some keys can wait until
// tensor cores have work to overlap them with:
//   TileSoftmax     m with the tile's scores; the factor of earlier sums, and the offset of the
//                   exponents (TileExponentials: with an m that was known before)
//   exponentials()  of some steps of keys, adding them to the tile's sums
//   add()           l with the tile's sums
// FP32 throughout, whatever the scores accumulate in.
#pragma once

#include <cmath>

#include "kernels/base/planted_fault.h"
#include "kernels/tile/layout.h"

namespace sparkbench {

/// m of a row before its first visible key: below every score but finite, so that a row that sees
/// no key gets zeros without a special case.
inline constexpr float kNoScore = -0x1p100f;

/// The recurrence of one row.
template <class Scale>
struct RunningRow {
  float m = kNoScore;  // largest score so far; in LazyRows one near it
  float l = 0.0f;      // sum of exp(scale * (score - m)) 2^kLog2

  /// exp(scale * (score - m)) 2^kLog2 = exp2(scale_log2 * score + offset), m including `largest`.
  /// Earlier sums and outputs are multiplied by `rescale`. A row that has seen no key yet gets
  /// zeros.
  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, float largest, float scale_log2, float& rescale,
                            float& offset) {
    rescale = refer_to(machine, fmaxf(m, largest), scale_log2);
    offset = offset_of_exponents(machine, scale_log2);
  }
  /// Sets m to `reference`. Rescales l, and returns the factor of earlier sums and outputs.
  template <class Machine>
  SPARK_DEVICE float refer_to(Machine& machine, float reference, float scale_log2) {
    const float rescale = machine.exp2((m - reference) * scale_log2);
    m = reference;
    SPARK_UNLESS_PLANTED(kSumNotRescaled, l *= rescale);
    return rescale;
  }
  template <class Machine>
  SPARK_DEVICE float offset_of_exponents(Machine& machine, float scale_log2) const {
    return machine.fma(-m, scale_log2, Scale::kLog2);
  }
};

/// The final m and l of a fragment's rows.
template <class Layout, class Scale>
struct FinishedRows {
  float m[Layout::kRowsPerLane], l[Layout::kRowsPerLane];

  /// The row's sum of exp(scale * (score - m)).
  SPARK_DEVICE float row_sum(int slot) const { return Scale::kInverse * l[slot]; }
};

/// m and l of a warp's rows over the tiles of keys: every row in each lane that holds scores of it,
/// l over that lane's own keys.
template <class Layout, int kGroups, class Scale>
class LaneRows {
 public:
  using Values = RowValues<Layout, kGroups>;

  /// Includes a tile's largest scores, those of this lane, in m.
  template <class Machine>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        const float of_row = Layout::reduce_row(machine, largest.of[g][slot],
                                                [](float a, float b) { return fmaxf(a, b); });
        row_[g][slot].include(machine,
                              SPARK_PLANTED(kMaximumOfOneLane, of_row, largest.of[g][slot]),
                              scale_log2, rescale.of[g][slot], offset.of[g][slot]);
      }
    }
  }
  /// A tile's sums begin with l, and end as l.
  SPARK_DEVICE Values initial_sum() const {
    Values sum;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) sum.of[g][slot] = row_[g][slot].l;
    }
    return sum;
  }
  template <class Machine>
  SPARK_DEVICE void add(Machine& /*machine*/, const Values& sum) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) row_[g][slot].l = sum.of[g][slot];
    }
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<Layout, Scale> finished(Machine& machine, int g) const {
    FinishedRows<Layout, Scale> rows;
#pragma unroll
    for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
      rows.m[slot] = row_[g][slot].m;
      rows.l[slot] = Layout::reduce_row(machine, row_[g][slot].l, [](float a, float b) {
        return SPARK_PLANTED(kSumOfOneLane, a + b, a);
      });
    }
    return rows;
  }

 protected:
  RunningRow<Scale> row_[kGroups][Layout::kRowsPerLane];
};

/// A tile's exponentials of kTileGroups of the rows' kGroups groups, from kFirstGroup on.
template <class Layout, int kGroups, int kFirstGroup = 0, int kTileGroups = kGroups>
struct TileExponentials {
  using Values = RowValues<Layout, kGroups>;

  Values offset;  // of the exponents
  Values sum;     // of this lane's probabilities so far

  /// Probabilities 2^kLog2 of the scores of steps [first_step, end_step).
  template <class Machine, int kSteps>
  SPARK_DEVICE void exponentials(Machine& machine,
                                 const typename Layout::Fragment (&score)[kTileGroups][kSteps],
                                 int first_step, int end_step, float scale_log2,
                                 float (&p)[kTileGroups][kSteps][Layout::kElements]) {
#pragma unroll
    for (int g = 0; g < kTileGroups; ++g) {
#pragma unroll
      for (int step = first_step; step < end_step; ++step) {
        Layout::widen(machine, score[g][step], p[g][step]);
#pragma unroll
        for (int i = 0; i < Layout::kElements; ++i) {
          const int slot = Layout::slot(Layout::strand_of(i));
          float& value = p[g][step][i];
          value = machine.exp2(
              machine.fma(SPARK_PLANTED(kScoreRoundedToHalf, value,
                                        machine.low_half(machine.pack_halves(value, 0.0f))),
                          scale_log2, offset.of[kFirstGroup + g][slot]));
          sum.of[kFirstGroup + g][slot] += value;
        }
      }
    }
  }
};

/// Turns a tile of scores into probabilities, for groups kFirstGroup to kFirstGroup + kTileGroups -
/// 1 of the rows; other groups stay as they are. Rows::add() then adds the tile's sums to l.
template <class Layout, int kGroups, int kFirstGroup = 0, int kTileGroups = kGroups>
struct TileSoftmax : TileExponentials<Layout, kGroups, kFirstGroup, kTileGroups> {
  using Values = RowValues<Layout, kGroups>;

  Values rescale;  // of earlier sums and outputs

  template <class Machine, int kSteps, class Rows>
  SPARK_DEVICE TileSoftmax(Machine& machine,
                           const typename Layout::Fragment (&score)[kTileGroups][kSteps],
                           float scale_log2, Rows& rows) {
    Values largest;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const bool is_of_tile = kFirstGroup <= g && g < kFirstGroup + kTileGroups;
      if (is_of_tile) continue;
#pragma unroll
      for (float& of_row : largest.of[g]) of_row = kNoScore;
    }
#pragma unroll
    for (int g = 0; g < kTileGroups; ++g) {
      Layout::largest(machine, score[g], largest.of[kFirstGroup + g]);
    }
    rows.include(machine, largest, scale_log2, rescale, this->offset);
    this->sum = rows.initial_sum();
  }
};

}  // namespace sparkbench
