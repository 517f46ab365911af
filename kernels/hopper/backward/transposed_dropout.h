// The dropout that the loader's warps drew for a tile, in the order of the warps that have its
// keys.
#pragma once

#include "kernels/hopper/block_plan.h"

namespace sparkbench::hopper {

/// The dropped elements of a lane's S' of 64 queries: element (slot, e) of step j, of key
/// row `slot` and query 8 j + 2 (lane mod 4) + e, is bit 16 e + 8 (j mod 2) + 2 (j / 2) + slot.
struct TransposedDropout {
  static constexpr int kSteps = 8;
  std::uint32_t word;

  /// From the words that the loader's warps drew for 16 queries each (TileDropout), for the 16 keys
  /// of this warp: two bits of each word for each of its rows, which become the other's columns.
  template <class Machine>
  SPARK_DEVICE void load(Machine& machine, const std::uint32_t (&drawn)[kWarpgroupWarps][32]) {
    const int first_bit = 2 * (machine.warp() % kWarpgroupWarps);
    std::uint32_t bits = 0;
#pragma unroll
    for (int rows = 0; rows < kWarpgroupWarps; ++rows) {
      const auto of_rows =
          machine.template load_shared<std::uint32_t>(&drawn[rows][machine.lane()]);
      bits |= (of_rows >> first_bit & 0x03030303u) << (2 * rows);
    }
    // A byte for each (row half, element of a pair of keys): one half for each of a pair.
    word = machine.transpose_matrix(machine.permute(bits, 0u, 0x3120));
  }

  SPARK_DEVICE bool is_dropped(int step, int slot, int e) const {
    return (word & 1u << (16 * e + 8 * (step & 1) + 2 * (step >> 1) + slot)) != 0;
  }
  /// All bits of those halves of a pair that are dropped.
  template <class Machine>
  SPARK_DEVICE std::uint32_t dropped_halves(const Machine& machine, int step, int slot) const {
    return machine.permute(word << (7 - 2 * (step >> 1) - slot), 0u,
                           (step & 1) == 0 ? 0xaa88u : 0xbb99u);
  }
};

}  // namespace sparkbench::hopper
