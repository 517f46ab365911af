// Exponents of operands as the vector arithmetic of tile_mma.cc and rows_mma.cc has them.
#pragma once

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/lane_arithmetic.h"
#include "kernels/machine/emulated/tensor_core/vector_clones.h"

namespace sparkbench {

// Exponents are kept where a float has its own, so that 2^e is one addition away.
inline constexpr int kExponentUnit = 1 << 23;
inline constexpr int kBias = 127 * kExponentUnit;

/// No non-zero fp32 c that vectors do has a lower one; 2^(F + 100) is still a float.
inline constexpr int kLeastExponent = -100 * kExponentUnit;

/// The exponent of a zero operand: added to any other it is below kLeastExponent, and added to
/// itself still an int.
inline constexpr int kZeroExponent = -120 * kExponentUnit;

SPARKBENCH_LANE int operand_exponent(Half half) {
  const int magnitude = half.bits & 0x7fff;
  const int exponent = (larger(magnitude >> 10, 1) - 15) * kExponentUnit;
  return select(mask_less(magnitude, 1), kZeroExponent, exponent);
}

/// The mask of an infinity or a NaN.
SPARKBENCH_LANE std::int32_t is_special(Half half) { return mask_less(0x7bff, half.bits & 0x7fff); }

/// 2^e as a float.
SPARKBENCH_LANE float power_of_two(int exponent) { return float_of(exponent + kBias); }

}  // namespace sparkbench
