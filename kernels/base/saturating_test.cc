#include "kernels/base/saturating.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Saturating, IsExactWhereTheResultFits) {
  EXPECT_EQ(saturating_product({3, 5, 7}), 105u);
  EXPECT_EQ(saturating_product({kMax, 1}), kMax);
  EXPECT_EQ(saturating_sum({3, 5, 7}), 15u);
}

TEST(Saturating, StopsAtTheLargestValue) {
  EXPECT_EQ(saturating_product({1ull << 32, 1ull << 32}), kMax);
  EXPECT_EQ(saturating_product({1ull << 40, 1ull << 40, 3}), kMax);
  EXPECT_EQ(saturating_sum({kMax, 1, 1}), kMax);
}

TEST(Saturating, IsZeroWhenAnyFactorIs) { EXPECT_EQ(saturating_product({kMax, kMax, 0}), 0u); }

}  // namespace
}  // namespace sparkbench
