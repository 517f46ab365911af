#include "kernels/machine/emulated/blocks/grid_counters.h"

#include <gtest/gtest.h>

#include <vector>

namespace sparkbench {
namespace {

BlockCounters block(int x, int y, std::uint64_t shuffles) {
  return {{x, y, 0}, {.shuffles = shuffles}};
}

std::uint64_t shuffles_of(const std::vector<BlockCounters>& sample,
                          const std::array<int, 3>& grid) {
  return extrapolate_to_grid(sample, grid).shuffles;
}

/// Blocks 0..9 count 5 + 3 * work each.
std::uint64_t affine_of(const std::vector<int>& sampled, const std::vector<double>& work) {
  std::vector<BlockCounters> sample;
  for (const int x : sampled) {
    const double shuffles = 5.0 + 3.0 * work[static_cast<std::size_t>(x)];
    sample.push_back(block(x, 0, static_cast<std::uint64_t>(shuffles)));
  }
  return extrapolate_to_grid(sample, {10, 1, 1}, work).shuffles;
}

TEST(ExtrapolateToGrid, IsExactForCountsAffineInTheWork) {
  // Key tiles of a sliding window: they grow, stay, and shrink at the end of the keys.
  const std::vector<double> window = {1, 2, 3, 4, 4, 4, 4, 4, 3, 1};
  EXPECT_EQ(affine_of({0, 5}, window), 50u + 3u * 30u);
  EXPECT_EQ(affine_of({4, 9, 2}, window), 50u + 3u * 30u);
}

TEST(ExtrapolateToGrid, NeedsNoWorkOfBlocksThatGrow) {
  const std::vector<double> causal = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::vector<BlockCounters> sample = {block(0, 0, 8), block(9, 0, 35)};
  EXPECT_EQ(affine_of({0, 9}, causal), 50u + 3u * 55u);
  EXPECT_EQ(shuffles_of(sample, {10, 1, 1}), 50u + 3u * 55u);
}

TEST(ExtrapolateToGrid, IsTheSumWhereEveryBlockRan) {
  EXPECT_EQ(
      shuffles_of({block(0, 0, 3), block(1, 0, 5), block(0, 1, 4), block(1, 1, 6)}, {2, 2, 1}),
      18u);
}

TEST(ExtrapolateToGrid, IsExactForCountsAffineInTheBlock) {
  // 7 + 2x, x = 0..9, of which three ran: 70 + 90 per row.
  EXPECT_EQ(shuffles_of({block(9, 0, 25), block(0, 0, 7), block(4, 0, 15)}, {10, 1, 1}), 160u);
}

TEST(ExtrapolateToGrid, TakesRowsOfTheGridToBeAlike) {
  EXPECT_EQ(shuffles_of({block(0, 2, 7), block(9, 1, 25)}, {10, 3, 4}), 12u * 160u);
}

TEST(ExtrapolateToGrid, TakesTheMeanOfBlocksAtOnePosition) {
  EXPECT_EQ(shuffles_of({block(0, 0, 2), block(0, 1, 4)}, {1, 8, 1}), 24u);
}

TEST(ExtrapolateToGrid, GoesOnForTheGapOfTheNearestTwo) {
  EXPECT_EQ(shuffles_of({block(3, 0, 10), block(4, 0, 12)}, {5, 1, 1}), 8u + 8u + 8u + 10u + 12u);
  EXPECT_EQ(shuffles_of({block(1, 0, 6), block(3, 0, 10)}, {7, 1, 1}),
            4u + 6u + 8u + 10u + 12u + 14u + 14u);
  // Three times -38, 1 and 40: never below 0.
  EXPECT_EQ(shuffles_of({block(3, 0, 1), block(4, 0, 40)}, {5, 1, 1}), 0u);
}

TEST(ExtrapolateToGrid, CountsEveryField) {
  Counters one;
  for (const auto field : kCounterFields) one.*field = 1;
  const std::vector<BlockCounters> sample = {{{1, 0, 0}, one}};
  const Counters six = extrapolate_to_grid(sample, {3, 2, 1});
  for (const auto field : kCounterFields) EXPECT_EQ(six.*field, 6u);
}

}  // namespace
}  // namespace sparkbench
