// The four 8x8x4 products of a warp-level m8n8k4 in the host's vector instructions, a row of eight
// outputs at a time.
//
// Tensor core: the truncated fused dot product of block_dot.h, in floats that are exact at every
// step. An fp16 product is a float; multiplied by 2^(F - e_max) and converted to an integer, which
// truncates, it is step 3; the sum is an int32 (|S| < 2^29 for four products and F <= 24).
// FMA chain: an fp16 product is a float, so a multiply and an add round as their fusion does.
#pragma once

#include "kernels/base/accumulator.h"
#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

namespace sparkbench {

/// A or B of one k step, decoded once for all the outputs that use it.
template <int kRows, int kColumns>
struct alignas(64) DecodedTiles {
  float value[kQuadPairs][kRows][kColumns];
  int exponent[kQuadPairs][kRows][kColumns];  // times 2^23: where a float has its exponent
  bool finite;                                // neither an infinity nor a NaN among them
};
using DecodedA = DecodedTiles<8, 4>;  // [row][k]
using DecodedB = DecodedTiles<4, 8>;  // [k][column]

void decode(const Half (&a)[kQuadPairs][8][4], DecodedA& decoded);
void decode(const Half (&b)[kQuadPairs][4][8], DecodedB& decoded);

/// Whether every c is zero or of magnitude 2^-100 to the largest float. (Below 2^-100 the scale
/// 2^(F - e_max) could leave the range of floats, if all products were zero.)
bool in_vector_range(const WarpAccumulatorTiles& tiles);

/// c += a * b on a tensor core with blocks of at least 4 products and `fraction_bits` <= 24. The
/// operands must be finite and c in_vector_range; the result may be infinite. With fp16
/// accumulators c holds fp16 values.
void tensor_core_step(Accumulator accumulator, int fraction_bits, const DecodedA& a,
                      const DecodedB& b, WarpAccumulatorTiles& c);

/// c += a * b by the FMA chain of fma_chain.h, infinities and NaN included.
void fma_chain_step(Accumulator accumulator, const DecodedA& a, const DecodedB& b,
                    WarpAccumulatorTiles& c);

}  // namespace sparkbench
