// log2(x) as a GPU approximates it, bit for bit: MUFU.LG2 and what is compiled around it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/machine/emulated/special_functions/gpu_float.h"
#include "kernels/machine/emulated/special_functions/interpolation.h"

namespace sparkbench {

/// The float nearest to `fixed` * 2^-36 that is not beyond it, seen from zero. |fixed| < 2^53.
inline float truncated_to_float(std::int64_t fixed) {
  const double exact = static_cast<double>(fixed);
  std::uint64_t bits;
  std::memcpy(&bits, &exact, sizeof bits);
  bits &= ~std::uint64_t{0x1fffffff};  // the 29 bits that a float does not have
  double truncated;
  std::memcpy(&truncated, &bits, sizeof truncated);
  return static_cast<float>(truncated) * 0x1p-36f;
}

/// lg2.approx.ftz.f32, the bare MUFU.LG2: absolute error under 2^-22 from 1/2 to 2. Zeros and
/// subnormal numbers give -inf, negative numbers NaN. Powers of two are exact from 1 on; below 1
/// they come out just above.
inline float log2_approx_ftz(float x) {
  if (std::fabs(x) < 0x1p-126f) return -std::numeric_limits<float>::infinity();
  if (!(x > 0.0f)) return canonical_nan();
  if (x == std::numeric_limits<float>::infinity()) return x;
  if (x == 1.0f) return 0.0f;
  const std::uint32_t bits = float_bits(x);
  const std::int64_t exponent = static_cast<std::int64_t>(bits >> kFractionBits) - 127;
  const std::int64_t fixed =
      exponent * (std::int64_t{1} << 36) +
      (interpolate(kLog2Interpolation, bits & 0x7fffffu) >> (kLog2Interpolation.sum_bits - 36));
  // A negative sum is complemented, not negated: its magnitude is one step short.
  return fixed < 0 ? -truncated_to_float(~fixed) : truncated_to_float(fixed);
}

/// lg2.approx.f32: a subnormal number is scaled by 2^24 first.
inline float log2_approx(float x) {
  if (x == 0.0f || !(std::fabs(x) < 0x1p-126f)) return log2_approx_ftz(x);
  const float scaled = log2_approx_ftz(x * 0x1p24f);
  return std::isnan(scaled) ? scaled : scaled - 24.0f;
}

}  // namespace sparkbench
