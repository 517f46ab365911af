// The two products of attention for one warp of 32 rows, its quad-pairs a 2 x 2 grid. Two groups of
// 16 rows share each B fragment that is loaded: shared memory delivers 128 bytes a clock, and with
// only one group the loads would take as long as the tensor cores.
#pragma once

#include "kernels/volta/tile/probability_tile.h"
#include "kernels/volta/tile/swizzled_tile.h"

namespace sparkbench {

/// 16-row groups of a warp.
inline constexpr int kRowGroups = 2;
inline constexpr int kWarpRows = kRowGroups * kGridRows;

/// A lane's operand offset for BTile's first keys: in A B^T, and in P B.
template <class BTile>
SPARK_DEVICE typename BTile::LanePlace score_operand_place(int lane) {
  return BTile::lane_place(grid_operand_key(lane), 0);
}
template <class BTile>
SPARK_DEVICE typename BTile::LanePlace output_operand_place(int lane) {
  return BTile::lane_place(
      8 * ((lane >> 1) & 1) + (lane & 1),
      BTile::kColumnHalfChunks * grid_column_half(lane) + BTile::kLaneHalfChunks * (lane >> 4));
}
/// The same for half a block of columns: 8 bytes of a chunk.
template <class BTile>
SPARK_DEVICE typename BTile::LanePlace half_block_place(int lane) {
  auto place = BTile::lane_place(8 * ((lane >> 1) & 1) + (lane & 1), lane >> 4);
  place.offset_bytes += 8 * grid_column_half(lane);
  return place;
}

/// C += A B^T over kChunks chunks of columns, with B's rows (keys) in grid order: c[g][s] is rows
/// 16g.. and the 16 keys of step s. load_a(g, chunk) returns a lane's chunk of A's rows 16g..,
/// load_b(s, chunk) of B's step s. Successive products go to different accumulators, because one
/// that waits for its predecessor leaves the tensor cores idle. beside(chunk) is work for other
/// units, a piece after each chunk's products: the compiler would move all of it before or after
/// them.
template <Accumulator kAccumulator, int kChunks, Operand kHeld = Operand::kA, class Machine,
          class LoadA, class LoadB, int kGroups, int kSteps, class Beside>
SPARK_DEVICE void matmul_chunks_beside(Machine& machine, LoadA load_a, LoadB load_b,
                                       AccumulatorFragment<kAccumulator> (&c)[kGroups][kSteps],
                                       Beside beside) {
  constexpr int kStepsAtOnce = kSteps == 1 ? 1 : 2;
  static_assert(kSteps % kStepsAtOnce == 0, "steps are taken in pairs");
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    OperandFragment a[2][kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const Bits128 bits = load_a(g, chunk);
#pragma unroll
      for (int half = 0; half < 2; ++half) a[half][g] = operand(bits, half);
    }
#pragma unroll
    for (int first = 0; first < kSteps; first += kStepsAtOnce) {
      OperandFragment of_keys[2][kStepsAtOnce];
#pragma unroll
      for (int s = 0; s < kStepsAtOnce; ++s) {
        const Bits128 bits = load_b(first + s, chunk);
#pragma unroll
        for (int half = 0; half < 2; ++half) of_keys[half][s] = operand(bits, half);
      }
      AccumulatorFragment<kAccumulator>* rows[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) rows[g] = &c[g][first];
      machine.template mma_m8n8k4_outer<Major::kRow, Major::kColumn, kHeld>(rows, a, of_keys);
    }
    beside(chunk);
  }
}

/// The same over all columns of B, a tile.
template <Accumulator kAccumulator, Operand kHeld = Operand::kA, class Machine, class LoadA,
          class BTile, int kGroups, int kSteps, class Beside>
SPARK_DEVICE void matmul_scores_beside(Machine& machine, LoadA load_a, BTile& b,
                                       const typename BTile::LanePlace& b_place,
                                       AccumulatorFragment<kAccumulator> (&c)[kGroups][kSteps],
                                       Beside beside) {
  matmul_chunks_beside<kAccumulator, BTile::kChunks, kHeld>(
      machine, load_a,
      [&](int step, int chunk) {
        return machine.template load_shared<Bits128>(b.at(b_place, kGridColumns * step, chunk));
      },
      c, beside);
}

/// The same without other work.
template <Accumulator kAccumulator, Operand kHeld = Operand::kA, class Machine, class LoadA,
          class BTile, int kGroups, int kSteps>
SPARK_DEVICE void matmul_scores(Machine& machine, LoadA load_a, BTile& b,
                                const typename BTile::LanePlace& b_place,
                                AccumulatorFragment<kAccumulator> (&c)[kGroups][kSteps]) {
  matmul_scores_beside<kAccumulator, kHeld>(machine, load_a, b, b_place, c, [](int) {});
}

/// The same, A the rows a_first_row (a multiple of 16) and on of a tile.
template <Accumulator kAccumulator, Operand kHeld = Operand::kA, class Machine, class ATile,
          class BTile, int kGroups, int kSteps>
SPARK_DEVICE void matmul_scores(Machine& machine, ATile& a, int a_first_row, BTile& b,
                                AccumulatorFragment<kAccumulator> (&c)[kGroups][kSteps]) {
  const int lane = machine.lane();
  const auto a_place = ATile::lane_place(a_first_row + grid_operand_row(lane), 0);
  matmul_scores<kAccumulator, kHeld>(
      machine,
      [&](int g, int chunk) {
        return machine.template load_shared<Bits128>(a.at(a_place, kGridRows * g, chunk));
      },
      b, score_operand_place<BTile>(lane), c);
}

/// Half a block of 32 columns: its half_block_place(), and its first chunk.
template <class BTile>
struct HalfBlock {
  typename BTile::LanePlace place;
  int chunk;
};

/// C += P B for 32 kBlocks columns of B from column 32 * first_block on. P is [16 kGroups, kKeys];
/// load_p(g, chunk) returns load_probabilities() of rows 16g... B's rows are the keys in plain
/// order, and P's first key is row 16 * first_step. c[g][2u + f] has rows 16g... In block
/// first_block + u and quad-pair column half c, its element n is column 16c + 8(n >> 2) + 4f + (n &
/// 3), or with a DenseTile 8c + 16(n >> 2) + 4f + (n & 3): a lane's 128-bit load is the operand of
/// both f. With kHasHalfBlock, c[g][2 kBlocks] has `half_block`, its element n being column 8(n >>
/// 2) + 4c + (n & 3). (store_output of output_tile.h puts the columns in order.)
template <Accumulator kAccumulator, int kKeys, int kBlocks, bool kHasHalfBlock = false,
          class Machine, class LoadP, class BTile, int kGroups, int kColumnGroups>
SPARK_DEVICE void matmul_probabilities(
    Machine& machine, LoadP load_p, BTile& b, const typename BTile::LanePlace& b_place,
    int first_block, AccumulatorFragment<kAccumulator> (&c)[kGroups][kColumnGroups], int first_step,
    const HalfBlock<BTile>& half_block = {}) {
  static_assert(2 * kBlocks + (kHasHalfBlock ? 1 : 0) <= kColumnGroups, "there are so many");
#pragma unroll
  for (int p_chunk = 0; p_chunk < kKeys / 8; ++p_chunk) {
    Bits128 a[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) a[g] = load_p(g, p_chunk);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int step = first_step + p_chunk / 2;
      const int pair = 2 * (p_chunk % 2) + half;
#pragma unroll
      for (int u = 0; u < kBlocks; ++u) {
        const Bits128 columns = machine.template load_shared<Bits128>(
            b.at(b_place, kGridColumns * step + 2 * pair, 4 * (first_block + u)));
        if constexpr (kGroups == 2) {
          machine.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
              {&c[0][2 * u], &c[1][2 * u]}, {{operand(a[0], half), operand(a[1], half)}},
              {{operand(columns, 0), operand(columns, 1)}});
        } else {
          machine.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
              {&c[0][2 * u]}, {{operand(a[0], half)}},
              {{operand(columns, 0), operand(columns, 1)}});
        }
      }
      if constexpr (kHasHalfBlock) {
        const auto columns = machine.template load_shared<Bits64>(
            b.at(half_block.place, kGridColumns * step + 2 * pair, half_block.chunk));
        // One product a call: nvcc 11.8 keeps c in memory where a call has several of one B.
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          machine.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
              {&c[g][2 * kBlocks]}, {{operand(a[g], half)}},
              {{OperandFragment{{columns.word[0], columns.word[1]}}}});
        }
      }
    }
  }
}

/// The same with P in shared memory, for all of c. If kColumnGroups is odd, the last has the half
/// block.
template <Accumulator kAccumulator, class Machine, int kKeys, class BTile, int kGroups,
          int kColumnGroups>
SPARK_DEVICE void matmul_probabilities(
    Machine& machine, ProbabilityTile<kKeys>* const (&p)[kGroups], BTile& b, int first_block,
    AccumulatorFragment<kAccumulator> (&c)[kGroups][kColumnGroups], int first_step = 0) {
  matmul_probabilities<kAccumulator, kKeys, kColumnGroups / 2, kColumnGroups % 2 != 0>(
      machine, [&](int g, int chunk) { return load_probabilities(machine, *p[g], chunk); }, b,
      output_operand_place<BTile>(machine.lane()), first_block, c, first_step,
      {half_block_place<BTile>(machine.lane()), BTile::kChunks / 4 * 4});
}

}  // namespace sparkbench
