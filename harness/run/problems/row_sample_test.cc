#include "harness/run/problems/row_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "reference/tensors/tensor_rows.h"

namespace sparkbench {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(ShareBudget, GivesEachKindItsShareAndItsLeast) {
  const std::vector<UnitKind> kinds = {{100, 1, 1.0}, {50, 1, 2.0}, {1, 1, 5.0}};
  EXPECT_EQ(share_budget(kinds, 1000), (Counts{100, 50, 1}));
  EXPECT_EQ(share_budget(kinds, 105), (Counts{50, 25, 1}));
  EXPECT_EQ(share_budget(kinds, 0), (Counts{1, 1, 1}));
  EXPECT_EQ(share_budget(std::vector<UnitKind>{{3, 8, 1.0}}, 0), (Counts{3}));
}

/// Tiles that see twice as many keys as the previous one.
std::vector<TileKind> doubling(int tiles) {
  std::vector<TileKind> kinds;
  for (int i = 0; i < tiles; ++i) {
    const double keys = 128 << i;
    kinds.push_back({keys, 1 / std::sqrt(keys)});
  }
  return kinds;
}

double total_of(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

TEST(RowStrata, DrawsATileOfEachAndWeighsItsRows) {
  RowStrata strata(false, false);
  for (int head = 0; head < 10; ++head) strata.add_head(0, head, 5 * 128, doubling(5), true);
  const auto drawn = strata.draw<QueryRow>({0, 1, true});
  std::set<int> tiles, heads;
  for (const SampleTile& tile : drawn.tiles) {
    tiles.insert(tile[0]);
    heads.insert(tile[1]);
  }
  EXPECT_EQ(tiles.size(), 5u);
  EXPECT_EQ(drawn.tiles.size(), 10u);  // a fifth of all rows each, so two of each
  EXPECT_GE(heads.size(), 6u);
  EXPECT_EQ(drawn.rows.size(), 10u * 128);
  for (const double weight : drawn.weights) EXPECT_DOUBLE_EQ(weight, 5.0);
  EXPECT_TRUE(std::is_sorted(drawn.rows.begin(), drawn.rows.end()));
}

TEST(RowStrata, DrawsSingleRows) {
  RowStrata strata(true, false);
  std::vector<TileKind> kinds(16, {64, 0.125});
  kinds.push_back({1024, 1.0 / 32});
  strata.add_head(0, 0, 17 * 128 - 100, kinds, true);
  const auto drawn = strata.draw<KeyRow>({0, 1, false});
  EXPECT_TRUE(drawn.tiles.empty());
  EXPECT_EQ(drawn.rows.size(), 512u + 28);  // the last tile has no more
  EXPECT_NEAR(total_of(drawn.weights), 17 * 128 - 100, 1e-9);
  EXPECT_LT(drawn.rows.back().row, 17 * 128 - 100);
  EXPECT_EQ(drawn.weights.front(), 4.0);
  EXPECT_EQ(std::adjacent_find(drawn.rows.begin(), drawn.rows.end()), drawn.rows.end());
}

TEST(RowStrata, SpreadsOverOneHeadsRows) {
  RowStrata strata(false, false);
  strata.add_head(0, 0, 8 * 128, std::vector<TileKind>(8, {64, 0.125}), true);
  const auto drawn = strata.draw<QueryRow>({0, 1, true});
  EXPECT_EQ(drawn.tiles, (std::vector<SampleTile>{{2, 0, 0}, {6, 0, 0}}));
}

TEST(RowStrata, TakesAllThatTheBudgetAllows) {
  RowStrata strata(false, false);
  strata.add_head(0, 0, 5 * 128, doubling(5), true);
  const auto drawn = strata.draw<QueryRow>({1e9, 1, true});
  EXPECT_EQ(drawn.tiles.size(), 5u);
  for (const double weight : drawn.weights) EXPECT_EQ(weight, 1.0);
}

TEST(RowStrata, OfEachHeadDrawFromEach) {
  RowStrata strata(false, true);
  for (int head = 0; head < 3; ++head) {
    strata.add_head(1, head, 8 * 128, std::vector<TileKind>(8, {64, 0.125}), true);
  }
  const auto drawn = strata.draw<QueryRow>({0, 1, true});
  ASSERT_EQ(drawn.tiles.size(), 3u);
  for (int head = 0; head < 3; ++head)
    EXPECT_EQ(drawn.tiles[static_cast<std::size_t>(head)][1], head);
  EXPECT_EQ(strata.least_flops({0, 2, true}), 3 * 128 * 2.0);
}

/// A head that is not a candidate counts; heads of the most similar strata represent it.
TEST(RowStrata, CandidatesStandForTheRest) {
  RowStrata strata(false, false);
  strata.add_head(0, 0, 2 * 128, doubling(2), true);
  strata.add_head(0, 1, 3 * 128, doubling(3), false);
  const auto drawn = strata.draw<QueryRow>({0, 1, true});
  ASSERT_EQ(drawn.rows.size(), 2u * 128);
  EXPECT_EQ(drawn.weights.front(), 2.0);
  EXPECT_EQ(drawn.weights.back(), 3.0);
}

}  // namespace
}  // namespace sparkbench
