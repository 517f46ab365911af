#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/test_operands.h"
#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

namespace sparkbench {
namespace {

std::vector<WarpOperands> random_operands(Sort sort, std::size_t steps, std::mt19937& generator) {
  std::vector<WarpOperands> operands(steps);
  for (WarpOperands& step : operands) {
    for (auto& lane : step.pair) {
      for (std::uint32_t& pair : lane) {
        const std::uint32_t low = random_half_bits(sort, generator);
        pair = low | static_cast<std::uint32_t>(random_half_bits(sort, generator)) << 16;
      }
    }
  }
  return operands;
}

/// One lane's accumulators as numbers, whatever their type, and where they lie in the tile.
struct Fp32 {
  using Element = float;
  static constexpr Accumulator kType = Accumulator::kFp32;
  static float random(Sort sort, std::mt19937& generator) { return random_float(sort, generator); }
  static std::uint32_t bits(float element) { return float_bits(element); }
  static int row(int lane, int i) { return fp32_row(lane, i); }
  static int column(int lane, int i) { return fp32_column(lane, i); }
};
struct Fp16 {
  using Element = Half;
  static constexpr Accumulator kType = Accumulator::kFp16;
  static Half random(Sort sort, std::mt19937& generator) { return random_half(sort, generator); }
  static std::uint32_t bits(Half element) { return element.bits; }
  static int row(int lane, int) { return owned_row(lane); }
  static int column(int, int i) { return i; }
};

template <typename Type>
class WarpMma : public testing::Test {
 protected:
  using Element = typename Type::Element;
  using Fragment = AccumulatorFragment<Type::kType>;

  struct Case {
    const ArithmeticProfile& profile;
    Major a_major, b_major;
    Sort sort;
    std::size_t steps;
  };

  /// Runs one random warp and compares each of its 256 outputs with the scalar definition.
  static void expect_definition(const Case& c, std::mt19937& generator) {
    const std::vector<WarpOperands> a = random_operands(c.sort, c.steps, generator);
    const std::vector<WarpOperands> b = random_operands(c.sort, c.steps, generator);
    Fragment fragments[32];
    Element before[32][8];
    Fragment* pointers[32];
    for (int lane = 0; lane < 32; ++lane) {
      for (Element& element : before[lane]) element = Type::random(c.sort, generator);
      std::memcpy(&fragments[lane], before[lane], sizeof before[lane]);
      pointers[lane] = &fragments[lane];
    }
    warp_mma_m8n8k4(c.profile, c.a_major, c.b_major, a, b, pointers);
    for (int lane = 0; lane < 32; ++lane) {
      Element after[8];
      std::memcpy(after, &fragments[lane], sizeof after);
      for (int i = 0; i < 8; ++i) {
        const Element expected = definition(c, a, b, lane, i, before[lane][i]);
        ASSERT_EQ(Type::bits(after[i]), Type::bits(expected))
            << c.profile.name << " lane " << lane << " element " << i;
      }
    }
  }

 private:
  static Element definition(const Case& c, const std::vector<WarpOperands>& a,
                            const std::vector<WarpOperands>& b, int lane, int i, Element value) {
    for (std::size_t step = 0; step < c.steps; ++step) {
      WarpOperandTiles tiles;
      gather_a(c.a_major, a[step], tiles);
      gather_b(c.b_major, b[step], tiles);
      std::array<Half, 4> column;
      for (int k = 0; k < 4; ++k) column[k] = tiles.b[quad_pair(lane)][k][Type::column(lane, i)];
      value =
          dot_accumulate(c.profile, tiles.a[quad_pair(lane)][Type::row(lane, i)], column, value);
    }
    return value;
  }
};

using Accumulators = testing::Types<Fp32, Fp16>;
TYPED_TEST_SUITE(WarpMma, Accumulators);

TYPED_TEST(WarpMma, HasDefinedBitsForAllNumbersAndMajors) {
  std::mt19937 generator(11);
  for (const char* profile : {"volta", "turing", "fma884"}) {
    for (const Sort sort : kAllSorts) {
      for (const Major a_major : {Major::kRow, Major::kColumn}) {
        for (const Major b_major : {Major::kRow, Major::kColumn}) {
          for (int trial = 0; trial < 10; ++trial) {
            this->expect_definition({arithmetic_profile(profile), a_major, b_major, sort, 1},
                                    generator);
          }
        }
      }
    }
  }
}

TYPED_TEST(WarpMma, HasDefinedBitsOverManySteps) {
  std::mt19937 generator(12);
  for (const char* profile : {"volta", "turing", "fma884"}) {
    for (const Sort sort : kAllSorts) {
      for (std::size_t steps = 2; steps <= 9; ++steps) {
        this->expect_definition(
            {arithmetic_profile(profile), Major::kRow, Major::kColumn, sort, steps}, generator);
      }
    }
  }
}

TYPED_TEST(WarpMma, LeavesTheAccumulatorAloneWithoutAStep) {
  std::mt19937 generator(13);
  this->expect_definition(
      {arithmetic_profile("volta"), Major::kRow, Major::kRow, Sort::kAnyBits, 0}, generator);
}

TYPED_TEST(WarpMma, HasTheBitsOfSeparateProducts) {
  std::mt19937 generator(14);
  constexpr std::size_t kM = 2, kN = 3, kSteps = 2;
  const ArithmeticProfile& profile = arithmetic_profile("volta");
  for (const Sort sort : kAllSorts) {
    const std::vector<WarpOperands> a = random_operands(sort, kSteps * kM, generator);
    const std::vector<WarpOperands> b = random_operands(sort, kSteps * kN, generator);
    typename TestFixture::Fragment together[kM][32][kN] = {}, apart[32];
    std::vector<typename TestFixture::Fragment*> c;
    for (auto& lanes : together) {
      for (auto& fragments : lanes) c.push_back(fragments);
    }
    warp_mma_m8n8k4_outer(profile, Major::kRow, Major::kColumn, {a, b, kM, kN}, c.data());
    for (std::size_t product = 0; product < kM * kN; ++product) {
      const std::size_t x = product / kN, y = product % kN;
      typename TestFixture::Fragment* pointers[32];
      for (int lane = 0; lane < 32; ++lane) pointers[lane] = &(apart[lane] = {});
      const std::vector<WarpOperands> of_a = {a[x], a[kM + x]}, of_b = {b[y], b[kN + y]};
      warp_mma_m8n8k4(profile, Major::kRow, Major::kColumn, of_a, of_b, pointers);
      for (int lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(std::memcmp(&together[x][lane][y], &apart[lane], sizeof apart[lane]), 0);
      }
    }
  }
}

TYPED_TEST(WarpMma, RefusesMoreFragmentsThanItDecodesAtOnce) {
  const std::vector<WarpOperands> five(kMaxOuterFragments + 1), one(1);
  std::vector<typename TestFixture::Fragment*> c(32 * five.size());
  const auto multiply = [&](const OuterOperands& operands) {
    warp_mma_m8n8k4_outer(arithmetic_profile("volta"), Major::kRow, Major::kRow, operands,
                          c.data());
  };
  EXPECT_THROW(multiply({five, one, five.size(), 1}), std::invalid_argument);
  EXPECT_THROW(multiply({one, five, 1, five.size()}), std::invalid_argument);
  EXPECT_THROW(multiply({one, one, 0, 0}), std::invalid_argument);
}

TYPED_TEST(WarpMma, RefusesProfilesWithoutItAndUnequalSteps) {
  typename TestFixture::Fragment fragments[32] = {};
  typename TestFixture::Fragment* pointers[32];
  for (int lane = 0; lane < 32; ++lane) pointers[lane] = &fragments[lane];
  const std::vector<WarpOperands> one(1), two(2);
  EXPECT_THROW(
      warp_mma_m8n8k4(arithmetic_profile("ampere"), Major::kRow, Major::kRow, one, one, pointers),
      std::invalid_argument);
  EXPECT_THROW(
      warp_mma_m8n8k4(arithmetic_profile("volta"), Major::kRow, Major::kRow, one, two, pointers),
      std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
