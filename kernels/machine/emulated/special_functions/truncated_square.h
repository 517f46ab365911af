// The squarer of the special-function unit: of the partial products of x * x, only those that weigh
// at least 2^19 are added up (the truncated squarer of Oberman and Siu, "A High-Performance
// Area-Efficient Multifunction Interpolator", ARITH 2005, section 4).
#pragma once

#include <array>
#include <cstdint>

namespace sparkbench {

/// What bits 2 to 8 of a 17-bit number (the index's upper seven bits) add to its truncated square
/// together with bits 10 to 16 (the lower seven).
extern const std::array<std::uint8_t, 128 * 128> kLowerProducts;

/// x has 17 bits, the result 15: at most x * x / 2^19, and less by under 8.51.
///
/// A square's partial products are x_i at 2^(2i), and x_i x_j at 2^(i+j+1) for i > j. The upper
/// eight bits, x_9 and up, keep all of theirs except x_9 itself, which shifting their square drops.
/// A bit j below them keeps those with i >= 18 - j.
inline std::uint32_t truncated_square(std::uint32_t x) {
  const std::uint32_t upper = x >> 9;
  return (upper * upper >> 1) + kLowerProducts[((x << 5) & 0x3f80u) | (x >> 10)];
}

}  // namespace sparkbench
