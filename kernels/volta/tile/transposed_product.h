// P^T B for one warp, its quad-pairs a 2 x 2 grid: what the backward pass adds to dV (P^T dO) and
// to dK (dS^T Q). P is stored as probability_tile.h has it, a row per query, and read transposed.
#pragma once

#include "kernels/volta/tile/grid_matmul.h"

namespace sparkbench {

/// Keys of P that one warp has as rows of P^T, all of a ProbabilityTile<64>, 16 of them a group.
inline constexpr int kTransposedKeys = 64;
inline constexpr int kTransposedGroups = kTransposedKeys / kGridRows;

/// kHalfOfAll and Config::kKeyHalf for all of the keys.
inline constexpr int kNoHalf = -1;

/// The key of row m of an 8x8 tile of c[g] (matmul_transposed_probabilities) in quad-pair row half
/// r: what two quartets of P (probability_tile.h), one a lane half, hold.
SPARK_HD int transposed_key(int r, int g, int m) {
  return 32 * (g >> 1) + kGridColumns * r + 4 * (m >> 2) + 2 * (g & 1) + 8 * ((m >> 1) & 1) +
         (m & 1);
}

/// C += P^T B for 64 keys of P, or the 32 of its half `key_half`, and for 32 kBlocks columns of B
/// from column 32 * first_block on. P's rows are those of B, 16 per tile. c[g][2u + f] has the keys
/// transposed_key(r, g, m) and the columns that matmul_probabilities gives. P^T is read as a
/// column-major A: a chunk is the operand of two g. With kHasHalfBlock, c[g][2 kBlocks] has the
/// half block from chunk half_chunk on. With kHalfOfAll, c has room for all 64 keys, and only that
/// half's groups are added to.
template <int kBlocks, bool kHasHalfBlock = false, int kHalfOfAll = kNoHalf,
          Accumulator kAccumulator, class Machine, int kTiles, class BTile, int kGroups,
          int kColumnGroups>
SPARK_DEVICE void matmul_transposed_probabilities(
    Machine& machine, ProbabilityTile<kTransposedKeys> (&p)[kTiles], BTile& b, int first_block,
    AccumulatorFragment<kAccumulator> (&c)[kGroups][kColumnGroups], int half_chunk = 0,
    int key_half = 0) {
  constexpr bool kIsHalfOfAll = kHalfOfAll != kNoHalf;
  constexpr int kGroupsOfKeys = kIsHalfOfAll ? kTransposedGroups / 2 : kGroups;
  constexpr int kFirstGroup = kIsHalfOfAll ? kGroupsOfKeys * kHalfOfAll : 0;
  constexpr int kHalves = kGroupsOfKeys / 2;
  static_assert(2 * kBlocks + (kHasHalfBlock ? 1 : 0) <= kColumnGroups, "there are so many");
  static_assert(!kIsHalfOfAll || (!kHasHalfBlock && kGroups == kTransposedGroups),
                "c is of all keys, and has whole blocks");
  const int lane = machine.lane();
  const int lane_row = 8 * ((lane >> 1) & 1) + (lane & 1);
  const int p_chunk =
      2 * grid_row_half(lane) + (lane >> 4) + 4 * (kIsHalfOfAll ? kHalfOfAll : key_half);
  const auto b_place =
      BTile::lane_place(lane_row, 4 * first_block + 2 * grid_column_half(lane) + (lane >> 4));
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int row = 0; row < 8; row += 2) {
      Bits128 a[kHalves];
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        a[half] =
            machine.template load_shared<Bits128>(p[tile].at(lane_row + row, p_chunk + 4 * half));
      }
#pragma unroll
      for (int u = 0; u < kBlocks; ++u) {
        const auto columns =
            machine.template load_shared<Bits128>(b.at(b_place, kGridRows * tile + row, 4 * u));
        if constexpr (kGroupsOfKeys == 4) {
          machine.template mma_m8n8k4_outer<Major::kColumn, Major::kRow, Operand::kB>(
              {&c[0][2 * u], &c[1][2 * u], &c[2][2 * u], &c[3][2 * u]},
              {{operand(a[0], 0), operand(a[0], 1), operand(a[1], 0), operand(a[1], 1)}},
              {{operand(columns, 0), operand(columns, 1)}});
        } else {
          machine.template mma_m8n8k4_outer<Major::kColumn, Major::kRow, Operand::kB>(
              {&c[kFirstGroup][2 * u], &c[kFirstGroup + 1][2 * u]},
              {{operand(a[0], 0), operand(a[0], 1)}}, {{operand(columns, 0), operand(columns, 1)}});
        }
      }
      if constexpr (kHasHalfBlock) {
        const auto columns = machine.template load_shared<Bits64>(
            b.at(half_block_place<BTile>(lane), kGridRows * tile + row, half_chunk));
        // One product per call, as in grid_matmul.h.
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          machine.template mma_m8n8k4_outer<Major::kColumn, Major::kRow, Operand::kB>(
              {&c[g][2 * kBlocks]}, {{operand(a[g / 2], g % 2)}},
              {{OperandFragment{{columns.word[0], columns.word[1]}}}});
        }
      }
    }
  }
}

}  // namespace sparkbench
