#include "kernels/machine/emulated/tensor_core/tile_mma.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/test_operands.h"

namespace sparkbench {
namespace {

WarpOperandTiles random_tiles(Sort sort, std::mt19937& generator) {
  WarpOperandTiles tiles;
  for (int i = 0; i < 128; ++i) {
    (&tiles.a[0][0][0])[i] = random_half(sort, generator);
    (&tiles.b[0][0][0])[i] = random_half(sort, generator);
  }
  return tiles;
}

std::array<Half, 4> column_of(const WarpOperandTiles& tiles, int p, int column) {
  return {tiles.b[p][0][column], tiles.b[p][1][column], tiles.b[p][2][column],
          tiles.b[p][3][column]};
}

/// Only the vector path, without the fallback that would hide its limits.
void expect_fp32_step_as_defined(const ArithmeticProfile& profile, Sort sort, float largest_c,
                                 std::mt19937& generator) {
  const WarpOperandTiles tiles = random_tiles(sort, generator);
  std::uniform_real_distribution<float> fraction(-1.0f, 1.0f);
  WarpAccumulatorTiles before;
  for (int i = 0; i < 256; ++i) (&before.value[0][0][0])[i] = fraction(generator) * largest_c;
  ASSERT_TRUE(in_vector_range(before));
  WarpAccumulatorTiles after = before;
  DecodedA a;
  DecodedB b;
  decode(tiles.a, a);
  decode(tiles.b, b);
  ASSERT_TRUE(a.finite && b.finite);
  tensor_core_step(Accumulator::kFp32, profile.fraction_bits, a, b, after);
  for (int i = 0; i < 256; ++i) {
    const int p = i / 64, row = i / 8 % 8, column = i % 8;
    const float expected = dot_accumulate(profile, tiles.a[p][row], column_of(tiles, p, column),
                                          before.value[p][row][column]);
    ASSERT_EQ(float_bits(after.value[p][row][column]), float_bits(expected));
  }
}

TEST(TileMma, HasDefinedBitsForEveryMagnitudeOfC) {
  std::mt19937 generator(21);
  for (const char* profile : {"volta", "turing"}) {
    for (const Sort sort : {Sort::kNormal, Sort::kWide, Sort::kZeros, Sort::kSubnormal}) {
      for (int exponent = -70; exponent <= 127; ++exponent) {
        expect_fp32_step_as_defined(arithmetic_profile(profile), sort, std::ldexp(1.0f, exponent),
                                    generator);
      }
    }
  }
}

TEST(TileMma, KeepsASmallCBesideZeroProducts) {
  WarpOperandTiles tiles = {};
  for (int i = 0; i < 128; ++i) (&tiles.b[0][0][0])[i] = Half{0x7bff};
  WarpAccumulatorTiles c;
  for (int i = 0; i < 256; ++i) (&c.value[0][0][0])[i] = 0x1.000002p-99f;
  DecodedA a;
  DecodedB b;
  decode(tiles.a, a);
  decode(tiles.b, b);
  ASSERT_TRUE(in_vector_range(c));
  tensor_core_step(Accumulator::kFp32, arithmetic_profile("volta").fraction_bits, a, b, c);
  for (int i = 0; i < 256; ++i) EXPECT_EQ((&c.value[0][0][0])[i], 0x1.000002p-99f);
}

TEST(TileMma, KnowsWhichAccumulatorsItCanTake) {
  const auto taken = [](float value) {
    WarpAccumulatorTiles tiles = {};
    tiles.value[3][7][7] = value;
    return in_vector_range(tiles);
  };
  EXPECT_TRUE(taken(0.0f));
  EXPECT_TRUE(taken(-0.0f));
  EXPECT_TRUE(taken(-0x1p-100f));
  EXPECT_TRUE(taken(std::numeric_limits<float>::max()));
  EXPECT_FALSE(taken(-0x1.fffffep-101f));
  EXPECT_FALSE(taken(0x1p-149f));
  EXPECT_FALSE(taken(-std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(taken(std::numeric_limits<float>::quiet_NaN()));
}

TEST(TileMma, FindsInfinitiesAndNansInAnyOperand) {
  DecodedA a;
  DecodedB b;
  for (const std::uint16_t special : {0x7c00, 0xfc00, 0x7e00, 0xffff}) {
    for (int i = 0; i < 128; ++i) {
      WarpOperandTiles tiles = {};
      (&tiles.a[0][0][0])[i] = Half{special};
      (&tiles.b[0][0][0])[i] = Half{special};
      decode(tiles.a, a);
      decode(tiles.b, b);
      EXPECT_FALSE(a.finite);
      EXPECT_FALSE(b.finite);
    }
  }
  WarpOperandTiles largest = {};
  largest.a[0][0][0] = largest.b[0][0][0] = Half{0x7bff};
  decode(largest.a, a);
  decode(largest.b, b);
  EXPECT_TRUE(a.finite);
  EXPECT_TRUE(b.finite);
}

}  // namespace
}  // namespace sparkbench
