// A table of inputs whose results a test knows by their bits.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/half.h"

namespace sparkbench {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kSubnormal = 0x1p-130f;
inline constexpr std::uint32_t kCanonicalNanBits = 0x7fffffffu;

struct SpecialValue {
  float x;
  std::uint32_t expected;  // bits of the result
};

inline void expect_bits(float (*function)(float), const std::vector<SpecialValue>& values) {
  for (const SpecialValue& value : values) {
    EXPECT_EQ(float_bits(function(value.x)), value.expected)
        << std::hexfloat << value.x << " " << std::hex << float_bits(value.x);
  }
}

/// Signalling and quiet NaNs of both signs give the GPU's one NaN.
inline void expect_canonical_nan(float (*function)(float)) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc12345u, 0xff812345u, 0xffffffffu}) {
    EXPECT_EQ(float_bits(function(float_from_bits(bits))), kCanonicalNanBits) << std::hex << bits;
  }
}

}  // namespace sparkbench
