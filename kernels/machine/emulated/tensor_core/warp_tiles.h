// The operands of one warp-level m8n8k4 as matrices: what the lanes hold in fragments
// (kernels/machine/mma/m8n8k4.h), gathered into the four 8x8x4 products of the quad-pairs.
#pragma once

#include "kernels/base/accumulator.h"
#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

inline constexpr int kQuadPairs = 4;

struct alignas(64) WarpOperandTiles {
  Half a[kQuadPairs][8][4];  // [row][k]
  Half b[kQuadPairs][4][8];  // [k][column]
};

/// C or D in fp32, or in fp16 widened to it.
struct alignas(64) WarpAccumulatorTiles {
  float value[kQuadPairs][8][8];  // [row][column]
};

void gather_a(Major major, const WarpOperands& lanes, WarpOperandTiles& tiles);
void gather_b(Major major, const WarpOperands& lanes, WarpOperandTiles& tiles);

void gather(AccumulatorFragment<Accumulator::kFp32>* const (&lanes)[32],
            WarpAccumulatorTiles& tiles);
void gather(AccumulatorFragment<Accumulator::kFp16>* const (&lanes)[32],
            WarpAccumulatorTiles& tiles);

/// The inverse of gather. Values bound for fp16 must be fp16 values.
void scatter(const WarpAccumulatorTiles& tiles,
             AccumulatorFragment<Accumulator::kFp32>* const (&lanes)[32]);
void scatter(const WarpAccumulatorTiles& tiles,
             AccumulatorFragment<Accumulator::kFp16>* const (&lanes)[32]);

}  // namespace sparkbench
