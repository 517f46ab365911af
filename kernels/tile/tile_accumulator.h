// Accumulators in registers, whichever type the MMA's C has.
#pragma once

#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// The eight values of a C fragment as floats, in RowLayout's order.
template <class Machine>
SPARK_DEVICE void widen(const Machine& /*machine*/,
                        const AccumulatorFragment<Accumulator::kFp32>& c, float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) value[i] = c.element[i];
}
template <class Machine>
SPARK_DEVICE void widen(Machine& machine, const AccumulatorFragment<Accumulator::kFp16>& c,
                        float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value[2 * i] = machine.low_half(c.pair[i]);
    value[2 * i + 1] = machine.high_half(c.pair[i]);
  }
}

/// One 8x8 tile of O over one tile of keys: o = rescale * o + sum of products, where o is FP32.
/// FP32-ACC multiplies straight into o. FP16-ACC sums one tile of keys in FP16 and adds that to o,
/// so rounding to FP16 never compounds over the key loop.
template <Accumulator kAccumulator>
class TileAccumulator;

template <>
class TileAccumulator<Accumulator::kFp32> {
 public:
  using Layout = RowLayout<Accumulator::kFp32>;

  template <class Machine>
  SPARK_DEVICE void start(const Machine& /*machine*/, float (&o)[8],
                          const float (&rescale)[Layout::kRowsPerLane]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) c_.element[i] = o[i] * rescale[Layout::slot(i)];
  }
  template <Major kB, class Machine>
  SPARK_DEVICE void multiply_add(Machine& machine, const OperandFragment (&a)[2],
                                 const OperandFragment (&b)[2]) {
    machine.template mma_m8n8k4<Major::kRow, kB>(c_, a, b);
  }
  template <class Machine>
  SPARK_DEVICE void finish(Machine& machine, float (&o)[8],
                           const float (&/*rescale*/)[Layout::kRowsPerLane]) const {
    widen(machine, c_, o);
  }

 private:
  AccumulatorFragment<Accumulator::kFp32> c_;
};

template <>
class TileAccumulator<Accumulator::kFp16> {
 public:
  using Layout = RowLayout<Accumulator::kFp16>;

  template <class Machine>
  SPARK_DEVICE void start(const Machine& /*machine*/, float (&/*o*/)[8],
                          const float (&/*rescale*/)[Layout::kRowsPerLane]) {
    c_ = {};
  }
  template <Major kB, class Machine>
  SPARK_DEVICE void multiply_add(Machine& machine, const OperandFragment (&a)[2],
                                 const OperandFragment (&b)[2]) {
    machine.template mma_m8n8k4<Major::kRow, kB>(c_, a, b);
  }
  template <class Machine>
  SPARK_DEVICE void finish(Machine& machine, float (&o)[8],
                           const float (&rescale)[Layout::kRowsPerLane]) const {
    float tile[8];
    widen(machine, c_, tile);
#pragma unroll
    for (int i = 0; i < 8; ++i) o[i] = machine.fma(o[i], rescale[Layout::slot(i)], tile[i]);
  }

 private:
  AccumulatorFragment<Accumulator::kFp16> c_;
};

}  // namespace sparkbench
