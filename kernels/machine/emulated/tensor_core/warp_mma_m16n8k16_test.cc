#include "kernels/machine/emulated/tensor_core/warp_mma_m16n8k16.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <stdexcept>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/test_operands.h"

namespace sparkbench {
namespace {

using m16n8k16::FragmentA;
using m16n8k16::FragmentB;
using m16n8k16::FragmentC;

/// A warp's operands as matrices, and laid out in fragments by the element formulas of the PTX ISA,
/// written here independently.
struct Warp {
  Half a[16][16];  // [row][k]
  Half b[8][16];   // [column][k]
  FragmentA lanes_a[32];
  FragmentB lanes_b[32];
  const FragmentA* a_pointers[32];
  const FragmentB* b_pointers[32];

  explicit Warp(std::mt19937& generator) {
    for (auto& row : a) {
      for (Half& half : row) half = random_half(Sort::kWide, generator);
    }
    for (auto& column : b) {
      for (Half& half : column) half = random_half(Sort::kWide, generator);
    }
    for (int lane = 0; lane < 32; ++lane) fill(lane);
  }

  void fill(int lane) {
    const int group = lane >> 2, thread = lane % 4;
    Half a_elements[8], b_elements[4];
    for (int i = 0; i < 8; ++i) {
      const int row = i % 4 < 2 ? group : group + 8;
      a_elements[i] = a[row][thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)];
    }
    for (int i = 0; i < 4; ++i) {
      b_elements[i] = b[group][thread * 2 + (i & 1) + (i >= 2 ? 8 : 0)];
    }
    std::memcpy(lanes_a[lane].pair, a_elements, sizeof a_elements);
    std::memcpy(lanes_b[lane].pair, b_elements, sizeof b_elements);
    a_pointers[lane] = &lanes_a[lane];
    b_pointers[lane] = &lanes_b[lane];
  }
};

template <Accumulator kAccumulator, typename Element>
void expect_definition(const ArithmeticProfile& profile, Element c) {
  std::mt19937 generator(31);
  const Warp warp(generator);
  FragmentC<kAccumulator> fragments[32];
  FragmentC<kAccumulator>* pointers[32];
  const Element initial[4] = {c, c, c, c};
  for (int lane = 0; lane < 32; ++lane) {
    std::memcpy(&fragments[lane], initial, sizeof initial);
    pointers[lane] = &fragments[lane];
  }
  warp_mma_m16n8k16(profile, warp.a_pointers, warp.b_pointers, pointers);
  for (int lane = 0; lane < 32; ++lane) {
    Element elements[4];
    std::memcpy(elements, &fragments[lane], sizeof elements);
    for (int i = 0; i < 4; ++i) {
      const int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      const Element expected = dot_accumulate(profile, warp.a[row], warp.b[column], c);
      EXPECT_EQ(std::memcmp(&elements[i], &expected, sizeof expected), 0) << row << ' ' << column;
    }
  }
}

TEST(WarpMmaM16n8k16, HasTheBitsOfTheDefinition) {
  for (const char* name : {"ampere", "hopper"}) {
    expect_definition<Accumulator::kFp32>(arithmetic_profile(name), 0.75f);
    expect_definition<Accumulator::kFp16>(arithmetic_profile(name), to_half(0.75f));
  }
}

TEST(WarpMmaM16n8k16, RefusesAProfileWithoutTheInstruction) {
  std::mt19937 generator(32);
  const Warp warp(generator);
  FragmentC<Accumulator::kFp32> fragments[32] = {};
  FragmentC<Accumulator::kFp32>* pointers[32];
  for (int lane = 0; lane < 32; ++lane) pointers[lane] = &fragments[lane];
  for (const char* name : {"volta", "turing", "fma884"}) {
    EXPECT_THROW(
        warp_mma_m16n8k16(arithmetic_profile(name), warp.a_pointers, warp.b_pointers, pointers),
        std::invalid_argument);
  }
}

}  // namespace
}  // namespace sparkbench
