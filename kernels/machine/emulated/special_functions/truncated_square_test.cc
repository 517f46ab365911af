#include "kernels/machine/emulated/special_functions/truncated_square.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkbench {
namespace {

constexpr int kBits = 17;

/// The definition: every partial product of x * x that weighs at least 2^19, in units of 2^19.
std::uint32_t sum_of_kept_products(std::uint32_t x) {
  std::uint32_t sum = 0;
  for (int i = 0; i < kBits; ++i) {
    if ((x >> i & 1u) == 0) continue;
    if (2 * i >= 19) sum += 1u << (2 * i - 19);
    for (int j = std::max(0, 18 - i); j < i; ++j) sum += (x >> j & 1u) << (i + j + 1 - 19);
  }
  return sum;
}

TEST(TruncatedSquare, AddsUpTheLargePartialProducts) {
  for (std::uint32_t x = 0; x < 1u << kBits; ++x) {
    ASSERT_EQ(truncated_square(x), sum_of_kept_products(x)) << x;
  }
}

TEST(TruncatedSquare, IsAtMostEightAndAHalfBelow) {
  for (std::uint32_t x = 0; x < 1u << kBits; ++x) {
    const double short_by = static_cast<double>(x) * x / (1u << 19) - truncated_square(x);
    ASSERT_TRUE(short_by >= 0 && short_by < 8.51) << x;
  }
}

TEST(TruncatedSquare, HasFifteenBits) { EXPECT_EQ(truncated_square((1u << kBits) - 1) >> 15, 0u); }

}  // namespace
}  // namespace sparkbench
