// 1 / x as a GPU computes it, bit for bit: MUFU.RCP, what is compiled around it, and the correctly
// rounded one.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/machine/emulated/special_functions/gpu_float.h"
#include "kernels/machine/emulated/special_functions/interpolation.h"

namespace sparkbench {

/// rcp.approx.ftz.f32, the bare MUFU.RCP: within 1 ulp. Subnormal numbers are zeros, going in and
/// coming out; a zero gives infinity, infinity zero, with the sign.
inline float reciprocal_approx_ftz(float x) {
  if (std::isnan(x)) return canonical_nan();
  const float magnitude = std::fabs(x);
  if (magnitude < 0x1p-126f) return std::copysign(std::numeric_limits<float>::infinity(), x);
  if (magnitude > 0x1p126f) return std::copysign(0.0f, x);
  const std::uint32_t bits = float_bits(magnitude);
  const std::int64_t mantissa = interpolate(kReciprocalInterpolation, bits & 0x7fffffu) >>
                                (kReciprocalInterpolation.sum_bits - kFractionBits - 1);
  // 1 / (1 + f) is in (1/2, 1], so its exponent is -1. The mantissa's leading one, and a second one
  // for a power of two, add to the exponent below it.
  const std::int64_t below = 252 - static_cast<std::int64_t>(bits >> kFractionBits);
  const auto result = static_cast<std::uint32_t>(below * (1 << kFractionBits) + mantissa);
  return std::copysign(float_from_bits(result), x);
}

/// rcp.approx.f32: what would be subnormal, x or its reciprocal, is scaled away and back.
inline float reciprocal_approx(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 0x1p-126f) return reciprocal_approx_ftz(x * 0x1p24f) * 0x1p24f;
  if (magnitude > 0x1p126f) return reciprocal_approx_ftz(x * 0.25f) * 0.25f;
  return reciprocal_approx_ftz(x);
}

/// rcp.rn.f32: correctly rounded, as IEEE division is.
inline float reciprocal_rn(float x) { return std::isnan(x) ? canonical_nan() : 1.0f / x; }

}  // namespace sparkbench
