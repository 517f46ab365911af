// IEEE 754 binary16 as bits, and its exact conversions to and from float on the host.
// Device code converts with the machine's own instructions (kernels/machine/).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/base/element_type.h"
#include "kernels/base/host_device.h"

namespace sparkbench {

/// An element of a tensor, for code that only moves it. The problem says its type, and so does the
/// Config of a kernel that computes with it. Half* converts to Bits16*, and so do views.
struct Bits16 {
  std::uint16_t bits;
};

/// A binary16 number: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.
struct Half : Bits16 {
  static constexpr ElementType kType = ElementType::kFp16;
};
static_assert(sizeof(Half) == 2, "tensors of Half are fp16 tensors, byte for byte");

SPARK_HD std::uint32_t float_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

SPARK_HD float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Exact: every binary16 number, subnormal ones included, is a float. A NaN keeps its payload.
inline float to_float(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu;
  const std::uint32_t fraction = h.bits & 0x3ffu;
  if (exponent == 31) return float_from_bits(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return float_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return float_from_bits(sign | float_bits(magnitude));
}

/// Round to nearest, ties to even, as cvt.rn.f16.f32: subnormals kept, overflow to infinity,
/// every NaN to 0x7fff (the canonical NaN of the GPU's conversion).
inline Half to_half(float value) {
  const std::uint32_t bits = float_bits(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return Half{0x7fff};
  if (magnitude >= 0x477ff000u) return Half{static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 makes the float adder round at bit 2^-24, the last subnormal place.
    const float shifted = float_from_bits(magnitude) + 0.5f;
    return Half{static_cast<std::uint16_t>(sign | (float_bits(shifted) - 0x3f000000u))};
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + odd;
  return Half{static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

/// `value` as any element type, by that type's rounding.
template <class Element>
Element to_element(float value);
template <>
inline Half to_element<Half>(float value) {
  return to_half(value);
}

}  // namespace sparkbench
