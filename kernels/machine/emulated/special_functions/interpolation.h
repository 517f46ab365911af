// The interpolator that the special functions share. 23 fraction bits are split into a segment
// number and an offset x into the segment, and three coefficients of the segment give
//   c0 + c1 * x + c2 * truncated_square(x) + bias
// exactly, in fixed point; each function cuts that to what it returns. The structure is Oberman and
// Siu's (truncated_square.h); widths, coefficients and biases follow from what a GPU computes
// (fit_coefficients.h). The same on every generation from sm_50 on.
#pragma once

#include <cstdint>

#include "kernels/machine/emulated/special_functions/truncated_square.h"

namespace sparkbench {

struct Coefficients {
  std::int32_t c0;  // as big as the function itself
  std::int32_t c1;  // its slope, 16 bits
  std::int32_t c2;  // half its curvature, 10 or 11 bits
};

/// One function's table, and its place on the fixed-point grid of steps 2^-sum_bits.
struct Interpolation {
  const Coefficients* segments;  // 2^segment_bits of them
  int segment_bits;              // 6 or 7 of the fraction's leading bits
  int sum_bits;                  // fraction bits of the sum
  int c0_shift;                  // from c0's grid to the sum's
  std::int32_t bias;             // what truncations lose on average, on the sum's grid
};

inline constexpr int kFractionBits = 23;
inline constexpr int kSquarerBits = 17;

/// `fraction` has 23 bits. The result is at most 2 in magnitude, in steps of 2^-sum_bits.
inline std::int64_t interpolate(const Interpolation& function, std::uint32_t fraction) {
  const int offset_bits = kFractionBits - function.segment_bits;
  const Coefficients& segment = function.segments[fraction >> offset_bits];
  const std::uint32_t offset = fraction & ((1u << offset_bits) - 1u);
  const std::uint32_t square = truncated_square(offset << (kSquarerBits - offset_bits));
  return (static_cast<std::int64_t>(segment.c0) << function.c0_shift) +
         static_cast<std::int64_t>(segment.c1) * offset +
         static_cast<std::int64_t>(segment.c2) * square + function.bias;
}

extern const Coefficients kExp2Coefficients[64];
extern const Coefficients kLog2Coefficients[64];
extern const Coefficients kReciprocalCoefficients[128];

/// 2^f, log2(1 + f) and 1 / (1 + f) of f in [0, 1).
inline constexpr Interpolation kExp2Interpolation = {kExp2Coefficients, 6, 38, 13, 6114};
inline constexpr Interpolation kLog2Interpolation = {kLog2Coefficients, 6, 38, 12, 837};
inline constexpr Interpolation kReciprocalInterpolation = {kReciprocalCoefficients, 7, 39, 13,
                                                           2023};

}  // namespace sparkbench
