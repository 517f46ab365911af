// The exchange between two warps that share rows, through shared memory: above 128 columns, where
// each has the scores of half of a tile's keys (piece_steps.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/machine/machine.h"
#include "kernels/volta/forward/config.h"

namespace sparkbench::volta {

/// Combines each row's value over the two warps that share it: CombineWarps of shared_rows.h.
template <class Config, class Machine>
class PairCombine {
 public:
  using RowValues = typename PieceTiles<Config>::RowValues;

  SPARK_DEVICE PairCombine(Machine& machine, RowValues& place) : machine_(machine), place_(place) {}

  template <class Combine, int kRows>
  SPARK_DEVICE void operator()(Combine combine, float (&value)[kRows]) const {
    using Bits = std::conditional_t<kRows == 1, std::uint32_t, Bits64>;
    static_assert(sizeof(Bits) == sizeof value, "one store tells all of a lane's rows");
    const int half = machine_.warp() % Config::kColumnWarps, lane = machine_.lane();
    Bits bits;
    memcpy(&bits, value, sizeof bits);
    machine_.store_shared(reinterpret_cast<Bits*>(place_.of_lane[half]) + lane, bits);
    machine_.template team_barrier<Config::kColumnWarps>();
    bits = machine_.template load_shared<Bits>(reinterpret_cast<Bits*>(place_.of_lane[half ^ 1]) +
                                               lane);
    float of_other[kRows];
    memcpy(of_other, &bits, sizeof bits);
#pragma unroll
    for (int i = 0; i < kRows; ++i) value[i] = combine(value[i], of_other[i]);
  }

 private:
  Machine& machine_;
  RowValues& place_;
};

/// Rows whose maxima need other warps' keys too: what TileSoftmax takes as its Rows.
template <class Rows, class CombineWarps>
struct CombinedRows {
  Rows& rows;
  CombineWarps combine_warps;

  template <class Machine, class Values>
  SPARK_DEVICE void include(Machine& machine, const Values& largest, float scale_log2,
                            Values& rescale, Values& offset) {
    rows.include(machine, largest, scale_log2, rescale, offset, combine_warps);
  }
  SPARK_DEVICE auto initial_sum() const { return rows.initial_sum(); }
};

}  // namespace sparkbench::volta
