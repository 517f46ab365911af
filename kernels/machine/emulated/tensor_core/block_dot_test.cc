#include "kernels/machine/emulated/tensor_core/block_dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/tensor_core/test_operands.h"

namespace sparkbench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// `values` as fp16, which they must be, and zeros up to `terms`.
std::vector<Half> halves(std::vector<float> values, std::size_t terms) {
  values.resize(std::max(values.size(), terms), 0.0f);
  std::vector<Half> result;
  for (const float value : values) result.push_back(to_half(value));
  return result;
}

std::uint32_t dot_f32(std::string_view profile, const std::vector<float>& a,
                      const std::vector<float>& b, float c, std::size_t terms = 4) {
  return float_bits(
      dot_accumulate(arithmetic_profile(profile), halves(a, terms), halves(b, terms), c));
}

std::uint32_t dot_f16(std::string_view profile, const std::vector<float>& a,
                      const std::vector<float>& b, float c, std::size_t terms = 4) {
  return dot_accumulate(arithmetic_profile(profile), halves(a, terms), halves(b, terms), to_half(c))
      .bits;
}

struct KnownAnswer {
  std::vector<float> a, b;
  float c;
  std::uint32_t volta, turing, hopper, fma884;
};

// The differences between architectures: the extra bits, truncation instead of rounding, sums
// before rounding. The first is the example of Xie et al.; the exact answer is -0.875.
const KnownAnswer kAnswersF32[] = {
    {{-2048, -.5f, -.25f, -.125f}, {4096, 1, 1, 1}, 0x1p23f, 0, 0xbf000000, 0xbf400000, 0},
    {{0x1.8p-12f}, {0x1p-12f}, 1, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800001},
    {{-0x1.8p-12f}, {0x1p-12f}, -1, 0xbf800000, 0xbf800000, 0xbf800000, 0xbf800001},
    {{1.5f, -1.5f}, {1.5f, 1.5f}, 0x1p-23f, 0x34000000, 0x34000000, 0x34000000, 0x34000000},
    {{0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f},
     {0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f},
     1,
     0x3f800000,
     0x3f800000,
     0x3f800001,
     0x3f800001},
    {{2048}, {1}, 1 + 0x1p-13f + 0x1p-23f, 0x45001000, 0x45001000, 0x45001000, 0x45001001},
    {{0x1p-24f}, {0x1p-24f}, 0, 0x27800000, 0x27800000, 0x27800000, 0x27800000}};

const KnownAnswer kAnswersF16[] = {
    {{0x1p-6f, 0x1p-12f}, {0x1p-5f, 0x1p-13f}, 1, 0x3c00, 0x3c00, 0x3c01, 0x3c00},
    {{256}, {256}, 0, 0x7c00, 0x7c00, 0x7c00, 0x7c00}};

TEST(BlockDot, GivesTheKnownAnswersInFp32) {
  for (const KnownAnswer& known : kAnswersF32) {
    EXPECT_EQ(dot_f32("volta", known.a, known.b, known.c), known.volta);
    EXPECT_EQ(dot_f32("turing", known.a, known.b, known.c), known.turing);
    EXPECT_EQ(dot_f32("ampere", known.a, known.b, known.c, 8), known.turing);
    EXPECT_EQ(dot_f32("hopper", known.a, known.b, known.c, 16), known.hopper);
    EXPECT_EQ(dot_f32("fma884", known.a, known.b, known.c), known.fma884);
  }
}

TEST(BlockDot, GivesTheKnownAnswersInFp16) {
  for (const KnownAnswer& known : kAnswersF16) {
    EXPECT_EQ(dot_f16("volta", known.a, known.b, known.c), known.volta);
    EXPECT_EQ(dot_f16("turing", known.a, known.b, known.c), known.turing);
    EXPECT_EQ(dot_f16("ampere", known.a, known.b, known.c, 8), known.turing);
    EXPECT_EQ(dot_f16("hopper", known.a, known.b, known.c, 16), known.hopper);
    EXPECT_EQ(dot_f16("fma884", known.a, known.b, known.c), known.fma884);
  }
}

TEST(BlockDot, RoundsToFp16OncePerBlock) {
  std::vector<float> a(16, 0x1p-6f);
  a[0] = 1;
  EXPECT_EQ(dot_f16("volta", a, a, 1), 0x4000u);   // four blocks lose each its 2^-12s
  EXPECT_EQ(dot_f16("ampere", a, a, 1), 0x4002u);  // two blocks
  EXPECT_EQ(dot_f16("hopper", a, a, 1), 0x4002u);  // one
}

TEST(BlockDot, FollowsIeeeForInfinitiesAndHasOneNan) {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    const auto f32 = [&](float a0, float b0, float a1, float b1, float c) {
      return dot_f32(profile.name, {a0, a1}, {b0, b1}, c);
    };
    const auto f16 = [&](float a0, float b0, float a1, float b1, float c) {
      return dot_f16(profile.name, {a0, a1}, {b0, b1}, c);
    };
    const auto expect = [&](std::uint32_t bits_f32, std::uint32_t bits_f16, auto... terms) {
      EXPECT_EQ(f32(terms...), bits_f32) << profile.name;
      EXPECT_EQ(f16(terms...), bits_f16) << profile.name;
    };
    expect(0x7fffffffu, 0x7fffu, kNan, 1.0f, 1.0f, 1.0f, 1.0f);
    expect(0x7fffffffu, 0x7fffu, 1.0f, -kNan, 1.0f, 1.0f, 1.0f);
    expect(0x7fffffffu, 0x7fffu, 1.0f, 1.0f, 1.0f, 1.0f, -kNan);
    expect(0x7fffffffu, 0x7fffu, kInfinity, 0.0f, 1.0f, 1.0f, 1.0f);
    expect(0x7fffffffu, 0x7fffu, kInfinity, 1.0f, -kInfinity, 1.0f, 1.0f);
    expect(0x7fffffffu, 0x7fffu, kInfinity, 1.0f, 1.0f, 1.0f, -kInfinity);
    expect(0x7f800000u, 0x7c00u, kInfinity, 1.0f, 1.0f, 1.0f, 1.0f);
    expect(0xff800000u, 0xfc00u, kInfinity, -1.0f, 1.0f, 1.0f, 1.0f);
    expect(0x7f800000u, 0x7c00u, kInfinity, 1.0f, kInfinity, 1.0f, kInfinity);
    expect(0xff800000u, 0xfc00u, 1.0f, 1.0f, 1.0f, 1.0f, -kInfinity);
  }
}

TEST(BlockDot, GivesPositiveZeroForCancellationAndZeros) {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    EXPECT_EQ(dot_f32(profile.name, {3, -3}, {5, 5}, 0), 0u) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {3, -3}, {5, 5}, 0), 0u) << profile.name;
    EXPECT_EQ(dot_f32(profile.name, {-3}, {5}, 15), 0u) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {-3}, {5}, 15), 0u) << profile.name;
    EXPECT_EQ(dot_f32(profile.name, {}, {}, -0.0f), 0u) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {}, {}, -0.0f), 0u) << profile.name;
  }
}

// Recorded on an H200: its tensor cores have no -0 among 380,000 results, its FMA chain has.
TEST(BlockDot, HasNegativeZeroInTheFmaChainOnly) {
  const std::vector<float> minus_zero(4, -0.0f);
  const std::vector<float> one(4, 1.0f);
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    const std::uint32_t expected_f16 = profile.is_fma_chain ? 0x8000u : 0u;
    EXPECT_EQ(dot_f32(profile.name, minus_zero, one, -0.0f), 0u) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, minus_zero, one, -0.0f), expected_f16) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {-0x1p-14f}, {0x1p-14f}, 0), expected_f16) << profile.name;
  }
}

TEST(BlockDot, OverflowsToInfinityAlsoWhereItTruncates) {
  const float largest = std::numeric_limits<float>::max();
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    EXPECT_EQ(dot_f32(profile.name, {60000}, {60000}, largest), float_bits(largest));
    EXPECT_EQ(dot_f16(profile.name, {2}, {7.5f}, 65504), 0x7bffu) << profile.name;  // below the tie
    EXPECT_EQ(dot_f16(profile.name, {2}, {8}, 65504), 0x7c00u) << profile.name;     // the tie
    EXPECT_EQ(dot_f16(profile.name, {-2}, {8}, -65504), 0xfc00u) << profile.name;
  }
}

TEST(BlockDot, KeepsSubnormalNumbers) {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    EXPECT_EQ(dot_f32(profile.name, {}, {}, 0x1p-149f), 1u) << profile.name;
    EXPECT_EQ(dot_f32(profile.name, {}, {}, -0x1.fp-130f), float_bits(-0x1.fp-130f));
    EXPECT_EQ(dot_f16(profile.name, {0x1p-24f}, {3}, 0), 3u) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {0x1p-24f}, {-1}, 0x1p-14f), 0x03ffu) << profile.name;
    EXPECT_EQ(dot_f16(profile.name, {0x1p-12f}, {0x1.8p-13f}, 0), 1u) << profile.name;  // 0.75 up
    EXPECT_EQ(dot_f16(profile.name, {0x1p-12f}, {0x1p-13f}, 0), 0u) << profile.name;    // tie, even
  }
}

// A tie at 2^-25 that a second product breaks, as long as it is not lost next to c = 0: measured
// on an H200 (F = 25), where 2^-46 is the last to count.
TEST(BlockDot, LosesTinyProductsNextToAnFp16Zero) {
  const auto result = [](std::string_view profile, int exponent, std::size_t terms) {
    const float b1 = 0x1p-24f;
    const float a1 = std::ldexp(1.0f, exponent + 24);
    return dot_f16(profile, {0x1p-11f, a1}, {0x1p-14f, b1}, 0, terms);
  };
  EXPECT_EQ(result("hopper", -46, 16), 1u);
  EXPECT_EQ(result("hopper", -47, 16), 0u);
  EXPECT_EQ(result("ampere", -44, 8), 1u);
  EXPECT_EQ(result("ampere", -45, 8), 0u);
  EXPECT_EQ(result("turing", -44, 4), 1u);
  EXPECT_EQ(result("turing", -45, 4), 0u);
  EXPECT_EQ(result("volta", -42, 4), 1u);
  EXPECT_EQ(result("volta", -43, 4), 0u);
}

TEST(BlockDot, DoesNotDependOnABlocksOrder) {
  std::mt19937 generator(3);
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    if (profile.is_fma_chain) continue;
    const auto length = static_cast<std::size_t>(profile.block_length);
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<Half> a(length), b(length);
      for (Half& half : a) half = random_half(Sort::kWide, generator);
      for (Half& half : b) half = random_half(Sort::kWide, generator);
      const float c = to_float(random_half(Sort::kNormal, generator));
      const std::vector<Half> reversed_a(a.rbegin(), a.rend());
      const std::vector<Half> reversed_b(b.rbegin(), b.rend());
      EXPECT_EQ(float_bits(dot_accumulate(profile, a, b, c)),
                float_bits(dot_accumulate(profile, reversed_a, reversed_b, c)));
    }
  }
}

TEST(BlockDot, ChainsBlocksInAscendingK) {
  std::mt19937 generator(4);
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    const auto length = static_cast<std::size_t>(profile.block_length);
    std::vector<Half> a(16), b(16);
    for (Half& half : a) half = random_half(Sort::kNormal, generator);
    for (Half& half : b) half = random_half(Sort::kNormal, generator);
    float chained = 1.0f;
    for (std::size_t k = 0; k < 16; k += length) {
      chained = dot_accumulate(profile, std::span(a).subspan(k, length),
                               std::span(b).subspan(k, length), chained);
    }
    EXPECT_EQ(float_bits(dot_accumulate(profile, a, b, 1.0f)), float_bits(chained));
  }
}

TEST(BlockDot, RefusesUnequalOrOddLengths) {
  const std::vector<Half> four(4), eight(8), three(3);
  const ArithmeticProfile& volta = arithmetic_profile("volta");
  EXPECT_THROW(dot_accumulate(volta, four, eight, 0.0f), std::invalid_argument);
  EXPECT_THROW(dot_accumulate(volta, three, three, Half{0}), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
