// A warp's part of a wgmma's accumulators: adjacent fragments of m16n8k16.
#pragma once

#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"
#include "kernels/machine/mma/m16n8k16.h"

namespace sparkbench::hopper {

template <int kSteps>
SPARK_DEVICE void clear(m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kSteps]) {
#pragma unroll
  for (auto& columns : c) {
#pragma unroll
    for (float& element : columns.element) element = 0.0f;
  }
}

/// A warp's accumulator, times `factor` for each of a lane's two rows, to its rows of a tile of
/// Element.
template <class Element, class Tile, class Machine, int kSteps>
SPARK_DEVICE void store_accumulator(Machine& machine, Tile& tile, int of_warp, int first_chunk,
                                    const float (&factor)[2],
                                    const m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kSteps]) {
  const int lane = machine.lane();
#pragma unroll
  for (int slot = 0; slot < 2; ++slot) {
    const int row = of_warp + m16n8k16::c_row(lane, 2 * slot);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const float* const pair = c[step].element + 2 * slot;
      machine.store_shared(
          &tile.at(row, first_chunk + step)->word[lane & 3],
          machine.template pack_halves<Element>(pair[0] * factor[slot], pair[1] * factor[slot]));
    }
  }
}

}  // namespace sparkbench::hopper
