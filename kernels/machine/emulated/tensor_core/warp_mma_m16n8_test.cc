#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/test_operands.h"
#include "kernels/machine/emulated/tensor_core/warp_mma.h"

namespace sparkbench {
namespace {

template <Accumulator kAccumulator>
void mma(const ArithmeticProfile& profile, const M16n8Operands<8> (&operands)[32],
         M16n8Accumulator<kAccumulator>* const (&c)[32]) {
  warp_mma_m16n8k8(profile, operands, c);
}
template <Accumulator kAccumulator>
void mma(const ArithmeticProfile& profile, const M16n8Operands<16> (&operands)[32],
         M16n8Accumulator<kAccumulator>* const (&c)[32]) {
  warp_mma_m16n8k16(profile, operands, c);
}

/// A warp's operands as matrices, and laid out in fragments by the element formulas of the PTX ISA
/// for mma.m16n8k8 and m16n8k16 with .f16.
template <int kK>
struct Warp {
  Half a[16][kK];
  Half b[kK][8];
  M16n8Operands<kK> lanes[32];

  explicit Warp(std::mt19937& generator) {
    for (auto& row : a) {
      for (Half& half : row) half = random_half(Sort::kWide, generator);
    }
    for (auto& row : b) {
      for (Half& half : row) half = random_half(Sort::kWide, generator);
    }
    for (int lane = 0; lane < 32; ++lane) fill(lane);
  }

  void fill(int lane) {
    const int group = lane >> 2, thread = lane % 4;
    Half a_elements[kK / 2], b_elements[kK / 4];
    for (int i = 0; i < kK / 2; ++i) {
      const int row = i % 4 < 2 ? group : group + 8;
      a_elements[i] = a[row][thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)];
    }
    for (int i = 0; i < kK / 4; ++i) {
      b_elements[i] = b[thread * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group];
    }
    std::memcpy(lanes[lane].a, a_elements, sizeof a_elements);
    std::memcpy(lanes[lane].b, b_elements, sizeof b_elements);
  }

  template <typename T>
  T expected(const ArithmeticProfile& profile, int row, int column, T c) const {
    std::vector<Half> b_column;
    for (const auto& b_row : b) b_column.push_back(b_row[column]);
    return dot_accumulate(profile, a[row], b_column, c);
  }
};

template <int kK, Accumulator kAccumulator, typename Element>
void expect_definition(const ArithmeticProfile& profile, Element c) {
  std::mt19937 generator(31);
  const Warp<kK> warp(generator);
  M16n8Accumulator<kAccumulator> fragments[32];
  M16n8Accumulator<kAccumulator>* pointers[32];
  const Element initial[4] = {c, c, c, c};
  for (int lane = 0; lane < 32; ++lane) {
    std::memcpy(&fragments[lane], initial, sizeof initial);
    pointers[lane] = &fragments[lane];
  }
  mma(profile, warp.lanes, pointers);
  int covered[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    Element elements[4];
    std::memcpy(elements, &fragments[lane], sizeof elements);
    for (int i = 0; i < 4; ++i) {
      const int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      const Element expected = warp.expected(profile, row, column, c);
      EXPECT_EQ(std::memcmp(&elements[i], &expected, sizeof expected), 0) << row << ' ' << column;
      ++covered[row][column];
    }
  }
  for (const auto& row : covered) {
    for (const int count : row) EXPECT_EQ(count, 1);
  }
}

TEST(WarpMmaM16n8, HasTheBitsOfTheDefinitionAtEveryElementOfTheTile) {
  for (const char* name : {"turing", "ampere", "hopper"}) {
    expect_definition<8, Accumulator::kFp32>(arithmetic_profile(name), 0.75f);
    expect_definition<8, Accumulator::kFp16>(arithmetic_profile(name), to_half(0.75f));
  }
  for (const char* name : {"ampere", "hopper"}) {
    expect_definition<16, Accumulator::kFp32>(arithmetic_profile(name), 0.75f);
    expect_definition<16, Accumulator::kFp16>(arithmetic_profile(name), to_half(0.75f));
  }
}

TEST(WarpMmaM16n8, RefusesAProfileWithoutTheInstruction) {
  const M16n8Operands<8> k8[32] = {};
  const M16n8Operands<16> k16[32] = {};
  M16n8Accumulator<Accumulator::kFp32> fragments[32] = {};
  M16n8Accumulator<Accumulator::kFp32>* pointers[32];
  for (int lane = 0; lane < 32; ++lane) pointers[lane] = &fragments[lane];
  EXPECT_THROW(warp_mma_m16n8k8(arithmetic_profile("volta"), k8, pointers), std::invalid_argument);
  EXPECT_THROW(warp_mma_m16n8k16(arithmetic_profile("turing"), k16, pointers),
               std::invalid_argument);
  EXPECT_THROW(warp_mma_m16n8k16(arithmetic_profile("fma884"), k16, pointers),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
