// P between the two products: out of the accumulators of S = Q K^T, through shared memory that
// belongs to one warp, into the A operands of O = P V. Quad-pairs of one row half hold different
// keys but both need all of them; a warp's own shared memory moves them with fewer instructions
// than shuffles, and needs no block barrier.
#pragma once

#include "kernels/machine/machine.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {

/// 16 rows of kKeys keys, as fp16. In each row the quartet of step s and pair j is 8 bytes at index
/// 4s + j, so that 16 bytes are the A operands of two k-steps. The swizzle of the chunks keeps the
/// stores (64-bit FP32-ACC, 128-bit FP16-ACC) and the loads free of bank conflicts.
template <int kKeys>
struct ProbabilityTile {
  static constexpr int kChunksPerRow = kKeys / 8;
  static_assert(kChunksPerRow == 4 || kChunksPerRow == 8, "these are the two swizzles");

  Bits128 chunk[kGridRows][kChunksPerRow];

  SPARK_HD static int swizzle(int row) {
    const int of_two_halves = (row ^ (row >> 2)) & 2;
    return kChunksPerRow == 8 ? of_two_halves | ((row & 1) << 2) : of_two_halves;
  }
  SPARK_HD Bits128* at(int row, int column_chunk) {
    return &chunk[row][column_chunk ^ swizzle(row)];
  }
};

/// Stores a lane's two quartets of step `step`: pair[q][h] is elements 4h + 2q + {0, 1}.
template <Accumulator kAccumulator, class Machine, int kKeys>
SPARK_DEVICE void store_quartets(Machine& machine, ProbabilityTile<kKeys>& tile, int step,
                                 const std::uint32_t (&pair)[kQuartets][2]) {
  using Layout = GridLayout<kAccumulator>;
  const int lane = machine.lane();
  const int chunk = 2 * step + grid_column_half(lane);
  if constexpr (kAccumulator == Accumulator::kFp16) {
    machine.store_shared(tile.at(Layout::row(lane, 0), chunk),
                         Bits128{{pair[0][0], pair[0][1], pair[1][0], pair[1][1]}});
  } else {
#pragma unroll
    for (int q = 0; q < kQuartets; ++q) {
      auto* halves = reinterpret_cast<Bits64*>(tile.at(Layout::row(lane, q), chunk));
      machine.store_shared(halves + (Layout::pair(lane, q) & 1), Bits64{{pair[q][0], pair[q][1]}});
    }
  }
}

/// Where a lane stores its quartets of a tile's step 0, and loads its operands of chunk 0, in bytes
/// from the tile: kept around a loop, they make the address of another step or chunk one
/// instruction.
struct ProbabilityPlaces {
  int store_bytes, load_bytes;
};

template <Accumulator kAccumulator, int kKeys>
SPARK_DEVICE ProbabilityPlaces probability_places(int lane) {
  using Layout = GridLayout<kAccumulator>;
  using Tile = ProbabilityTile<kKeys>;
  constexpr int kRowBytes = 16 * Tile::kChunksPerRow;
  const int row = Layout::row(lane, 0), operand_row = grid_operand_row(lane);
  const int half = kAccumulator == Accumulator::kFp16 ? 0 : Layout::pair(lane, 0) & 1;
  return {kRowBytes * row + 16 * (grid_column_half(lane) ^ Tile::swizzle(row)) + 8 * half,
          kRowBytes * operand_row + 16 * Tile::swizzle(operand_row)};
}

/// store_quartets() and load_probabilities() by probability_places(). Quartet 1 is two rows below
/// quartet 0, which flips bit 1 of the chunk in the swizzle.
template <Accumulator kAccumulator, class Machine, int kKeys>
SPARK_DEVICE void store_quartets(Machine& machine, ProbabilityTile<kKeys>& tile,
                                 const ProbabilityPlaces& places, int step,
                                 const std::uint32_t (&pair)[kQuartets][2]) {
  constexpr int kRowBytes = 16 * ProbabilityTile<kKeys>::kChunksPerRow;
  auto* const bytes = reinterpret_cast<unsigned char*>(&tile);
  if constexpr (kAccumulator == Accumulator::kFp16) {
    machine.store_shared(bytes + (places.store_bytes ^ (32 * step)),
                         Bits128{{pair[0][0], pair[0][1], pair[1][0], pair[1][1]}});
  } else {
#pragma unroll
    for (int q = 0; q < kQuartets; ++q) {
      machine.store_shared(bytes + (places.store_bytes ^ (32 * (step ^ q))) + 2 * kRowBytes * q,
                           Bits64{{pair[q][0], pair[q][1]}});
    }
  }
}
template <class Machine, int kKeys>
SPARK_DEVICE Bits128 load_probabilities(Machine& machine, ProbabilityTile<kKeys>& tile,
                                        const ProbabilityPlaces& places, int chunk) {
  return machine.template load_shared<Bits128>(reinterpret_cast<unsigned char*>(&tile) +
                                               (places.load_bytes ^ (16 * chunk)));
}

/// 16 rows of values, pack(low, high) rounding a pair to fp16: calls store(step, pair) with each
/// step's quartets.
template <int kSteps, class Pack, class Store>
SPARK_DEVICE void pack_steps(const float (&value)[kSteps][8], Pack pack, Store store) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    std::uint32_t pair[kQuartets][2];
#pragma unroll
    for (int q = 0; q < kQuartets; ++q) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        pair[q][h] =
            pack(value[step][quartet_element(q, h, 0)], value[step][quartet_element(q, h, 1)]);
      }
    }
    store(step, pair);
  }
}

/// Stores 16 rows of values as those of steps first_step.. of the tile's keys.
template <Accumulator kAccumulator, class Machine, int kSteps, int kKeys, class Pack>
SPARK_DEVICE void store_packed(Machine& machine, const float (&value)[kSteps][8],
                               ProbabilityTile<kKeys>& tile, int first_step, Pack pack) {
  pack_steps(value, pack, [&](int step, const std::uint32_t(&pair)[kQuartets][2]) {
    store_quartets<kAccumulator>(machine, tile, first_step + step, pair);
  });
}
template <Accumulator kAccumulator, class Machine, int kSteps, int kKeys, class Pack>
SPARK_DEVICE void store_packed(Machine& machine, const float (&value)[kSteps][8],
                               ProbabilityTile<kKeys>& tile, const ProbabilityPlaces& places,
                               Pack pack) {
  pack_steps(value, pack, [&](int step, const std::uint32_t(&pair)[kQuartets][2]) {
    store_quartets<kAccumulator>(machine, tile, places, step, pair);
  });
}

/// dS of 16 rows, which has a sign and any magnitude: the conversion unit rounds it. From the
/// tile's first step on, or by probability_places().
template <Accumulator kAccumulator, class Machine, int kSteps, int kKeys, class Places = int>
SPARK_DEVICE void store_gradients(Machine& machine, const float (&gradient)[kSteps][8],
                                  ProbabilityTile<kKeys>& tile, const Places& places = 0) {
  store_packed<kAccumulator>(machine, gradient, tile, places,
                             [&](float low, float high) { return machine.pack_halves(low, high); });
}

/// Probabilities of 16 rows as fp16, times kOfHalves, in registers: pair[step][q][h] as
/// store_quartets takes them.
template <int kSteps>
struct PackedProbabilities {
  std::uint32_t pair[kSteps][kQuartets][2];

  /// Rounds those of steps [first_step, end_step).
  template <class Scale, class Machine>
  SPARK_DEVICE void pack(Machine& machine, const float (&p)[kSteps][8], int first_step,
                         int end_step) {
    pack_with<Scale>(p, first_step, end_step, [&](float low, float high, int /*i*/, int /*q*/) {
      return pack_scaled_halves(machine, low, high);
    });
  }
  /// The same, and 0 where they are dropped.
  template <class Scale, class Machine, class Dropout>
  SPARK_DEVICE void pack_kept(Machine& machine, const float (&p)[kSteps][8], int first_step,
                              int end_step, const Dropout& dropout, int group) {
    pack_with<Scale>(p, first_step, end_step, [&](float low, float high, int i, int q) {
      return pack_scaled_halves(machine, low, high, dropout.selector(group, i, q));
    });
  }

  /// Stores those of steps first_step.. as all of the tile's keys.
  template <Accumulator kAccumulator, class Machine, int kKeys>
  SPARK_DEVICE void store(Machine& machine, ProbabilityTile<kKeys>& tile, int first_step) const {
#pragma unroll
    for (int step = 0; step < kKeys / kGridColumns; ++step) {
      store_quartets<kAccumulator>(machine, tile, step, pair[first_step + step]);
    }
  }
  template <Accumulator kAccumulator, class Machine, int kKeys>
  SPARK_DEVICE void store(Machine& machine, ProbabilityTile<kKeys>& tile,
                          const ProbabilityPlaces& places, int first_step) const {
#pragma unroll
    for (int step = 0; step < kKeys / kGridColumns; ++step) {
      store_quartets<kAccumulator>(machine, tile, places, step, pair[first_step + step]);
    }
  }

 private:
  /// pack(low, high, i, q) of each pair: keys 8 i + 2 j + {0, 1} of quartet q.
  template <class Scale, class Pack>
  SPARK_DEVICE void pack_with(const float (&p)[kSteps][8], int first_step, int end_step,
                              Pack pack) {
#pragma unroll
    for (int step = first_step; step < end_step; ++step) {
#pragma unroll
      for (int q = 0; q < kQuartets; ++q) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          pair[step][q][h] =
              pack(Scale::packable(p[step][quartet_element(q, h, 0)]),
                   Scale::packable(p[step][quartet_element(q, h, 1)]), 2 * step + h, q);
        }
      }
    }
  }
};

/// The A operands of k-steps 2 * chunk and 2 * chunk + 1 (matmul_probabilities' order).
template <class Machine, int kKeys>
SPARK_DEVICE Bits128 load_probabilities(Machine& machine, ProbabilityTile<kKeys>& tile, int chunk) {
  return machine.template load_shared<Bits128>(tile.at(grid_operand_row(machine.lane()), chunk));
}

}  // namespace sparkbench
