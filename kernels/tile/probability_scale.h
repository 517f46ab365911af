// Probabilities as fp16 without the conversion unit. Volta converts fp32 to fp16 on the same pipe
// as exp2, at 8 cycles per warp; integer instructions have room to spare.
//
// A float of value v in [2^-126, 2^-96) has an exponent field below 32: its bits, shifted right by
// 13, are the fp16 number v * 2^112. So softmax computes its exponentials times 2^kProbabilityLog2,
// which costs nothing (it is added to the exponent that exp2 takes), and P becomes fp16 by an
// integer multiply-add, which rounds to nearest with ties up, and one byte permutation a pair.
//
//   FP32-ACC   p 2^-97 as a float, p 2^15 as fp16: p down to 2^-29 stays a normal fp16 number.
//   FP16-ACC   its accumulators could not hold sums of 2^15, so p is 1 as a float and p 2^-112 is
//              formed by a multiplication, which keeps subnormals.
#pragma once

#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

template <Accumulator kAccumulator>
struct ProbabilityScale;

template <>
struct ProbabilityScale<Accumulator::kFp32> {
  static constexpr float kLog2 = -97.0f;       // log2 of what exp2 returns over p
  static constexpr float kInverse = 0x1p97f;   // p over what exp2 returns
  static constexpr float kOfHalves = 0x1p15f;  // the fp16 numbers over p
  SPARK_HD static float packable(float value) { return value; }
};

template <>
struct ProbabilityScale<Accumulator::kFp16> {
  static constexpr float kLog2 = 0.0f;
  static constexpr float kInverse = 1.0f;
  static constexpr float kOfHalves = 1.0f;
  SPARK_HD static float packable(float value) { return value * 0x1p-112f; }
};

/// Unscaled probabilities, for chips that convert fp32 to fp16 on another pipe than exp2.
struct PlainProbabilities {
  static constexpr float kLog2 = 0.0f, kInverse = 1.0f, kOfHalves = 1.0f;
};

/// The fp16 number value * 2^112, a value in [0, 2^-96), in bits 16 to 30; bit 31 is 0.
SPARK_HD std::uint32_t scaled_half_bits(float value) {
  constexpr std::uint32_t kRoundingBit = 0x8000;  // half of the last place, after the shift
  return float_bits(value) * 8u + kRoundingBit;
}

/// Two values in [0, 2^-96), times 2^112, as a pair of halves. A NaN gives no NaN.
template <class Machine>
SPARK_DEVICE std::uint32_t pack_scaled_halves(const Machine& machine, float low, float high) {
  return machine.upper_halves(scaled_half_bits(low), scaled_half_bits(high));
}
/// The same, with 0 for those that are dropped, by TileDropout::selector().
template <class Machine>
SPARK_DEVICE std::uint32_t pack_scaled_halves(const Machine& machine, float low, float high,
                                              std::uint32_t selector) {
  return machine.permute(scaled_half_bits(low), scaled_half_bits(high), selector);
}

}  // namespace sparkbench
