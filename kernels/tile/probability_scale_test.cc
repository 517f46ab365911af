#include "kernels/tile/probability_scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

/// p from 2^-14 to 1, as fp16 by integers and by rounding to nearest with ties up.
template <class Scale>
void expect_halves() {
  run({}, [](EmulatedMachine& machine) {
    for (int i = 1 + machine.lane(); i <= 4096; i += 32) {
      const float p = static_cast<float>(i) / 4096.0f;
      const float value = Scale::packable(std::ldexp(p, static_cast<int>(Scale::kLog2)));
      const std::uint32_t pair = pack_scaled_halves(machine, value, 0.0f);
      EXPECT_EQ(machine.high_half(pair), 0.0f);
      EXPECT_NEAR(machine.low_half(pair), p * Scale::kOfHalves, p * Scale::kOfHalves * 0x1p-11f);
    }
  });
}

TEST(ProbabilityScale, RoundsToFp16ByIntegers) {
  expect_halves<ProbabilityScale<Accumulator::kFp32>>();
  expect_halves<ProbabilityScale<Accumulator::kFp16>>();
}

TEST(ProbabilityScale, InvertsWhatTheExponentialGives) {
  EXPECT_EQ(std::exp2(ProbabilityScale<Accumulator::kFp32>::kLog2) *
                ProbabilityScale<Accumulator::kFp32>::kInverse,
            1.0f);
}

}  // namespace
}  // namespace sparkbench
