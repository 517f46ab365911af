// m and l of a warp's 32 rows over the tiles of keys, as LaneRows (kernels/tile/softmax.h), in
// fewer registers: where four lanes share four rows (FP32-ACC) each keeps one of them, for six more
// shuffles per tile. A tile's sums begin at 0.
//
// If several warps have keys of the same rows, combine_warps(operation, value) combines `value`,
// which has one number for each row that the lane keeps, over these warps.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/softmax.h"
#include "kernels/volta/tile/grid_matmul.h"

namespace sparkbench {

/// combine_warps for a warp that has all keys of its rows.
struct WarpAlone {
  template <class Combine, int kRows>
  SPARK_DEVICE void operator()(Combine /*combine*/, float (&/*value*/)[kRows]) const {}
};

template <Accumulator kAccumulator, class Scale>
class SharedRows;

/// A lane holds one row of either group, and its l over its own keys only.
template <class Scale>
class SharedRows<Accumulator::kFp16, Scale> {
 public:
  using Layout = GridLayout<Accumulator::kFp16>;
  using Values = RowValues<Layout, kRowGroups>;

  template <class Machine, class CombineWarps = WarpAlone>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset, CombineWarps combine_warps = {}) {
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    float of_row[kRowGroups];
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      of_row[g] = Layout::reduce_row(machine, largest.of[g][0], larger);
    }
    combine_warps(larger, of_row);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      row_[g].include(machine, of_row[g], scale_log2, rescale.of[g][0], offset.of[g][0]);
    }
  }
  SPARK_DEVICE Values initial_sum() const { return {}; }
  template <class Machine>
  SPARK_DEVICE void add(Machine& /*machine*/, const Values& sum) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) row_[g].l += sum.of[g][0];
  }
  /// l of all warps, once, at the end.
  template <class CombineWarps>
  SPARK_DEVICE void add_warps(CombineWarps combine_warps) {
    float l[kRowGroups] = {row_[0].l, row_[1].l};
    combine_warps([](float a, float b) { return a + b; }, l);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) row_[g].l = l[g];
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<Layout, Scale> finished(Machine& machine, int g) const {
    return {{row_[g].m},
            {Layout::reduce_row(machine, row_[g].l, [](float a, float b) { return a + b; })}};
  }

 private:
  RunningRow<Scale> row_[kRowGroups];
};

/// Each of the four lanes that differ in bits 1 and 2 keeps one row: slot by bit 1, group by bit 2.
template <class Scale>
class SharedRows<Accumulator::kFp32, Scale> {
 public:
  using Layout = GridLayout<Accumulator::kFp32>;
  using Values = RowValues<Layout, kRowGroups>;

  template <class Machine, class CombineWarps = WarpAlone>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset, CombineWarps combine_warps = {}) {
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    float of_row[1] = {combine_own_row(machine, largest, larger)};
    combine_warps(larger, of_row);
    float own_rescale, own_offset;
    row_.include(machine, of_row[0], scale_log2, own_rescale, own_offset);
    offset = of_all_rows(machine, own_offset);
    rescale = of_all_rows(machine, own_rescale);
  }
  SPARK_DEVICE Values initial_sum() const { return {}; }
  template <class Machine>
  SPARK_DEVICE void add(Machine& machine, const Values& sum) {
    row_.l += combine_own_row(
        machine, sum, [](float a, float b) { return SPARK_PLANTED(kSumOfOneLane, a + b, a); });
  }
  template <class CombineWarps>
  SPARK_DEVICE void add_warps(CombineWarps combine_warps) {
    float l[1] = {row_.l};
    combine_warps([](float a, float b) { return a + b; }, l);
    row_.l = l[0];
  }
  template <class Machine>
  SPARK_DEVICE FinishedRows<Layout, Scale> finished(Machine& machine, int g) const {
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
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        value.of[g][slot] = machine.template shuffle_among<6>(own, 2 * slot + 4 * g);
      }
    }
    return value;
  }

  RunningRow<Scale> row_;
};

}  // namespace sparkbench
