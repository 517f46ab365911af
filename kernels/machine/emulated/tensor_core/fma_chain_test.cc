#include "kernels/machine/emulated/tensor_core/fma_chain.h"

#include <gtest/gtest.h>

#include <array>

namespace sparkbench {
namespace {

std::array<Half, 4> halves(float x0, float x1, float x2, float x3) {
  return {to_half(x0), to_half(x1), to_half(x2), to_half(x3)};
}

TEST(FmaChain, RoundsEveryStepAndAddsCLast) {
  // 2048 * 8192 = 2^24 swallows the first 1 * 1 (a tie, to even); 2^24 - 2^24 leaves nothing of it.
  EXPECT_EQ(fma_chain(halves(1, 2048, -2048, 1), halves(1, 8192, 8192, 1), 5.0f), 6.0f);
  EXPECT_EQ(fma_chain(halves(2048, -2048, 1, 1), halves(8192, 8192, 1, 1), 5.0f), 7.0f);
}

TEST(FmaChain, AddsTwoPairsInTurnInFp16) {
  // c + 2^24 loses c = 1 to the tie; (c + p01) + p23 then cancels to zero, c + (p01 + p23) would
  // not.
  const auto a = halves(2048, 0, -2048, 0);
  const auto b = halves(8192, 0, 8192, 0);
  EXPECT_EQ(fma_chain(a, b, to_half(1.0f)).bits, 0x0000);
  EXPECT_EQ(fma_chain(a, b, to_half(2.0f)).bits, to_half(2.0f).bits);
}

TEST(FmaChain, HasOneNan) {
  const auto a = halves(1, 1, 1, 1);
  const std::array<Half, 4> b = {Half{0xfe01}, Half{0}, Half{0}, Half{0}};
  EXPECT_EQ(float_bits(fma_chain(a, b, 0.0f)), 0x7fffffffu);
  EXPECT_EQ(fma_chain(a, b, Half{0}).bits, 0x7fff);
}

}  // namespace
}  // namespace sparkbench
