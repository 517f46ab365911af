// The dropout mask (kernels/dropout.h) for a tile of P^T: keys are rows, queries are columns.
#pragma once

#include "kernels/dropout.h"
#include "kernels/tile/row_layout.h"

namespace sparkbench {

/// The key, within a block's 64-key groups, of row `row` of the 32 rows of warp `key_warp`. A warp
/// has every other run of four keys of a group, so that the two Philox calls which cover its keys
/// serve no other warp: row 4i + r is key 8i + 4 * (key_warp & 1) + r.
SPARK_HD int permuted_key(int key_warp, int row) {
  return 64 * (key_warp >> 1) + 8 * (row >> 2) + 4 * (key_warp & 1) + (row & 3);
}

/// Keep bits of the lane's rows of P^T for 32 queries: bit q of keep[slot] is that of query
/// first_query + q. Lane q draws the bytes of query q for all 32 keys of the warp; a ballot a key
/// hands each lane the words of the keys that it owns.
template <Accumulator kAccumulator, class Machine>
SPARK_DEVICE void keep_words(Machine& machine, const Dropout& dropout, std::uint32_t batch_head,
                             int first_query, int first_key, int key_warp,
                             std::uint32_t (&keep)[RowLayout<kAccumulator>::kRowsPerLane]) {
  using Layout = RowLayout<kAccumulator>;
  const int lane = machine.lane();
  const auto query = static_cast<std::uint32_t>(first_query + lane);
  const auto group = static_cast<std::uint32_t>((first_key >> 6) + (key_warp >> 1));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto pair = static_cast<std::uint32_t>(2 * (key_warp & 1) + half);
    const PhiloxBlock bytes = dropout_bytes(dropout, batch_head, query, group, pair);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int column = 8 * (i >> 1) + (i & 1);
      const std::uint32_t word = machine.ballot(
          dropout_byte(bytes, static_cast<std::uint32_t>(column)) >= dropout.threshold);
      const int row = 4 * (i >> 1) + 2 * half + (i & 1);
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        if (Layout::row(lane, slot) == row) keep[slot] = word;
      }
    }
  }
}

}  // namespace sparkbench
