// The dropout mask (kernels/dropout.h) applied to a tile of probabilities in registers.
#pragma once

#include "kernels/dropout.h"
#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// Zeroes the dropped elements of a 64-key tile. A Philox call decides the same two columns of all
/// eight 8-key groups of one row, all of which this lane owns, so no byte is wasted.
/// `first_row` is the warp's first row, `key_group` the tile's first key / 64.
template <Accumulator kAccumulator>
SPARK_DEVICE void drop_probabilities(float (&p)[8][8], const Dropout& dropout, int lane,
                                     std::uint32_t batch_head, int first_row, int key_group) {
  using Layout = RowLayout<kAccumulator>;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const int row = first_row + Layout::row(lane, Layout::slot(i));
    const int pair = (Layout::column(lane, i) >> 1) & 3;
    const PhiloxBlock bytes =
        dropout_bytes(dropout, batch_head, static_cast<std::uint32_t>(row),
                      static_cast<std::uint32_t>(key_group), static_cast<std::uint32_t>(pair));
#pragma unroll
    for (int group = 0; group < 8; ++group) {
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        const auto column = static_cast<std::uint32_t>(8 * group + odd);
        if (dropout_byte(bytes, column) < dropout.threshold) p[group][i + odd] = 0.0f;
      }
    }
  }
}

}  // namespace sparkbench
