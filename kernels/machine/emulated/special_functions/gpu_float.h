// Float arithmetic of a GPU beyond rounding: one NaN, and .ftz.
#pragma once

#include <cmath>

#include "kernels/base/half.h"

namespace sparkbench {

/// Whatever NaN goes in, and wherever one arises, this one comes out (PTX ISA, "Floating Point
/// Comparisons": "canonical NaN").
inline float canonical_nan() { return float_from_bits(0x7fffffffu); }

/// A subnormal number becomes a zero of its sign.
inline float flush_subnormal(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

}  // namespace sparkbench
