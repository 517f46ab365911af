// Special functions as the emulated machine computes them. The GPU's MUFU unit is off by up to 2
// ulp (PTX ISA, ex2.approx.ftz.f32 and lg2.approx.ftz.f32); these are correctly rounded, not yet
// MUFU's bits. Subnormal inputs and results are zeros, as .ftz says, and NaN is the GPU's
// canonical 0x7fffffff.
//
// Each is computed in double and rounded once more: correctly rounded, but for exact values within
// about 2^-53 of the middle between two floats.
#pragma once

#include <cmath>

#include "kernels/half.h"

namespace sparkbench {

/// A subnormal number becomes a zero of its sign.
inline float flush_subnormal(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

/// 2^x. exp2(-inf) = +0, exp2(+inf) = +inf.
inline float rounded_exp2(float x) {
  if (std::isnan(x)) return float_from_bits(0x7fffffffu);
  const double exact = std::exp2(static_cast<double>(flush_subnormal(x)));
  return flush_subnormal(static_cast<float>(exact));
}

/// log2(x). log2(+-0) = -inf, negative numbers give NaN.
inline float rounded_log2(float x) {
  if (std::isnan(x) || x <= -0x1p-126f) return float_from_bits(0x7fffffffu);
  const double exact = std::log2(static_cast<double>(std::fabs(flush_subnormal(x))));
  return flush_subnormal(static_cast<float>(exact));
}

}  // namespace sparkbench
