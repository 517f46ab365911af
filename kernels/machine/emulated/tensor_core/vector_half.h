// fp16 conversions without branches, for loops that become vector instructions. The bits are those
// of kernels/base/half.h.
#pragma once

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/lane_arithmetic.h"

namespace sparkbench {

/// Exact; a NaN keeps its payload.
SPARKBENCH_LANE float widened(Half half) {
  const std::int32_t sign = half.bits >> 15 << 31;
  const std::int32_t magnitude = half.bits & 0x7fff;
  const std::int32_t rebias = select(mask_less(magnitude, 0x7c00), 112 << 23, 224 << 23);
  const std::int32_t subnormal = bits_of(static_cast<float>(magnitude) * 0x1p-24f);
  const std::int32_t normal = (magnitude << 13) + rebias;
  return float_of(sign | select(mask_less(magnitude, 0x400), subnormal, normal));
}

/// Rounds the bits of a non-negative float, which is no NaN, to the nearest fp16 number, ties to
/// even.
SPARKBENCH_LANE std::int32_t rounded_to_half(std::int32_t magnitude) {
  const std::int32_t odd = (magnitude >> 13) & 1;
  const std::int32_t normal = (magnitude + 0xfff + odd) & ~0x1fff;
  // Next to 0.5 a float's last place is 2^-24, the one of a subnormal fp16 number.
  const std::int32_t subnormal = bits_of((float_of(magnitude) + 0.5f) - 0.5f);
  const std::int32_t rounded = select(mask_less(magnitude, 0x38800000), subnormal, normal);
  return select(mask_less(rounded, 0x47800000), rounded, 0x7f800000);
}

/// An fp16 number that is held as a float, exactly. Every NaN becomes 0x7fff.
SPARKBENCH_LANE Half narrowed(float value) {
  const std::int32_t magnitude = bits_of(value) & 0x7fffffff;
  const std::int32_t sign = (bits_of(value) >> 16) & 0x8000;
  const std::int32_t small = mask_less(magnitude, 0x38800000);
  const auto subnormal = static_cast<std::int32_t>(float_of(magnitude & small) * 0x1p24f);
  const std::int32_t finite = select(small, subnormal, (magnitude >> 13) - (112 << 10));
  const std::int32_t narrow = sign | select(mask_less(magnitude, 0x7f800000), finite, 0x7c00);
  return Half{static_cast<std::uint16_t>(select(mask_less(0x7f800000, magnitude), 0x7fff, narrow))};
}

}  // namespace sparkbench
