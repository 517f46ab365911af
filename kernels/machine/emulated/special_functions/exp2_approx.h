// 2^x as a GPU approximates it, bit for bit: MUFU.EX2 and what is compiled around it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/machine/emulated/special_functions/gpu_float.h"
#include "kernels/machine/emulated/special_functions/interpolation.h"

namespace sparkbench {

/// ex2.approx.ftz.f32, the bare MUFU.EX2. Within 2.06 ulp of 2^x and never decreasing; a subnormal
/// result is +0, a subnormal x gives 1.
inline float exp2_approx_ftz(float x) {
  if (!(x < 128.0f))
    return std::isnan(x) ? canonical_nan() : std::numeric_limits<float>::infinity();
  if (x < -126.0f) return 0.0f;
  // 23 fraction bits, the rest of x cut off. A negative number is complemented, not negated, so it
  // comes out one step too low; not so an integer.
  auto fixed = static_cast<std::int32_t>(x * 0x1p23f);
  fixed -= static_cast<std::int32_t>(x < 0.0f && (fixed & 0x7fffff) != 0);
  const std::int64_t mantissa =
      interpolate(kExp2Interpolation, static_cast<std::uint32_t>(fixed) & 0x7fffffu) >>
      (kExp2Interpolation.sum_bits - kFractionBits);
  const std::int32_t biased_exponent = (fixed >> kFractionBits) + 127;
  // The mantissa's leading one adds the last step of the exponent.
  return float_from_bits((static_cast<std::uint32_t>(biased_exponent - 1) << kFractionBits) +
                         static_cast<std::uint32_t>(mantissa));
}

/// ex2.approx.f32: where the result would be subnormal, the square of 2^(x/2).
inline float exp2_approx(float x) {
  if (!(x < -126.0f)) return exp2_approx_ftz(x);
  const float root = exp2_approx_ftz(x * 0.5f);
  return root * root;
}

/// __expf(x), compiled without -ftz: ex2.approx.f32 of x times log2(e).
inline float expf_intrinsic(float x) { return exp2_approx(x * 0x1.715476p0f); }

}  // namespace sparkbench
