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

TEST(ExtrapolateToGrid, IsTheSumWhereEveryBlockRan) {
  EXPECT_EQ(
      shuffles_of({block(0, 0, 3), block(1, 0, 5), block(0, 1, 4), block(1, 1, 6)}, {2, 2, 1}),
      18u);
}

TEST(ExtrapolateToGrid, IsExactForCountsThatAreAffineInTheBlock) {
  // 7 + 2x, x = 0..9, of which three ran: 70 + 90 a row.
  EXPECT_EQ(shuffles_of({block(9, 0, 25), block(0, 0, 7), block(4, 0, 15)}, {10, 1, 1}), 160u);
}

TEST(ExtrapolateToGrid, TakesRowsOfTheGridToBeAlike) {
  EXPECT_EQ(shuffles_of({block(0, 2, 7), block(9, 1, 25)}, {10, 3, 4}), 12u * 160u);
}

TEST(ExtrapolateToGrid, TakesTheMeanOfBlocksAtOnePosition) {
  EXPECT_EQ(shuffles_of({block(0, 0, 2), block(0, 1, 4)}, {1, 8, 1}), 24u);
}

TEST(ExtrapolateToGrid, IsConstantBeyondTheEndsOfTheSample) {
  // 4, 4, 4, 8, 8
  EXPECT_EQ(shuffles_of({block(2, 0, 4), block(3, 0, 8)}, {5, 1, 1}), 28u);
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
