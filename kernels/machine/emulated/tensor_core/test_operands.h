// Random operands for the tests of the emulated tensor cores: numbers of the sorts that take
// different paths through the arithmetic.
#pragma once

#include <cstdint>
#include <random>

#include "kernels/base/half.h"

namespace sparkbench {

enum class Sort { kNormal, kWide, kZeros, kSubnormal, kTies, kAnyBits };

inline constexpr Sort kAllSorts[] = {Sort::kNormal,    Sort::kWide, Sort::kZeros,
                                     Sort::kSubnormal, Sort::kTies, Sort::kAnyBits};

/// fp16 bits: kNormal of magnitude 2^-4 to 2^4; kWide any finite number; kZeros half of them +-0;
/// kSubnormal subnormal numbers and zeros; kTies zeros and powers of two from 2^-24 to 2^-10, whose
/// sums of products lie on and right beside ties; kAnyBits now and then an infinity or a NaN.
inline std::uint16_t random_half_bits(Sort sort, std::mt19937& generator) {
  const auto bits = static_cast<std::uint32_t>(generator());
  const std::uint32_t below_exponent_31 = (bits & 0x83ffu) | ((bits >> 16) % 31 << 10);
  switch (sort) {
    case Sort::kNormal:
      return static_cast<std::uint16_t>((bits & 0x83ffu) | ((11 + (bits >> 16) % 8) << 10));
    case Sort::kWide:
      return static_cast<std::uint16_t>(below_exponent_31);
    case Sort::kZeros:
      return static_cast<std::uint16_t>((bits >> 31) != 0 ? bits & 0x8000u : below_exponent_31);
    case Sort::kSubnormal:
      return static_cast<std::uint16_t>(bits & (0x8000u | (0x3ffu >> (bits >> 16) % 11)));
    case Sort::kTies: {
      if (bits % 4 == 0) return static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
      const std::uint32_t exponent = (bits >> 8) % 15;
      const std::uint32_t power = exponent < 10 ? 1u << exponent : (exponent - 9) << 10;
      return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | power);
    }
    case Sort::kAnyBits:
      return static_cast<std::uint16_t>((bits >> 16) % 64 == 0 ? bits | 0x7c00u
                                                               : below_exponent_31);
  }
  return 0;
}

inline Half random_half(Sort sort, std::mt19937& generator) {
  return Half{random_half_bits(sort, generator)};
}

/// fp32: an fp16 number of that sort, or, for kWide and kAnyBits, any pattern of 32 bits; for
/// kSubnormal also subnormal fp32 numbers.
inline float random_float(Sort sort, std::mt19937& generator) {
  const auto bits = static_cast<std::uint32_t>(generator());
  if (sort == Sort::kSubnormal && bits % 2 == 0) return float_from_bits(generator() & 0x807fffffu);
  if (sort == Sort::kAnyBits) return float_from_bits(bits);
  if (sort == Sort::kWide && (bits & 0x7f800000u) != 0x7f800000u) return float_from_bits(bits);
  return to_float(random_half(sort, generator)) * (1.0f + 0x1p-12f);
}

}  // namespace sparkbench
