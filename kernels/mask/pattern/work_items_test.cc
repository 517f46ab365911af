#include "kernels/mask/pattern/work_items.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {
namespace {

std::vector<TilePlan> longformer_plans() {
  return {plan(parse_pattern("longformer:256:16", 16384, 16384), 0, 128, 64)};
}

/// In the order in which a grid starts them: head by head, row by row.
std::vector<TileItem> in_grid_order(std::vector<TileItem> items) {
  std::sort(items.begin(), items.end(), [](const TileItem& a, const TileItem& b) {
    return std::pair(a.head, a.row_tile) < std::pair(b.head, b.row_tile);
  });
  return items;
}

/// Longformer at 16k, 12 heads, tiles of 128 x 64; two blocks on each SM of an H200 and a V100.
TEST(WorkItems, BalanceGlobalRowsOnceSplit) {
  const std::vector<TilePlan> plans = longformer_plans();
  const std::vector<TileItem> whole = work_items(plans, 12, false),
                              split = work_items(plans, 12, true);
  EXPECT_NEAR(balance_of(in_grid_order(whole), 264).ratio(), 4.1, 0.15);
  EXPECT_NEAR(balance_of(whole, 264).ratio(), 3.4, 0.05);
  EXPECT_LE(balance_of(split, 264).ratio(), 1.05);
  EXPECT_NEAR(balance_of(in_grid_order(whole), 160).ratio(), 2.9, 0.15);
  EXPECT_NEAR(balance_of(whole, 160).ratio(), 2.1, 0.05);
  EXPECT_LE(balance_of(split, 160).ratio(), 1.07);
}

TEST(WorkItems, HoldEachTileOnceAndLongestFirst) {
  const std::vector<TilePlan> plans = {
      plan(parse_pattern("longformer:64:9", 6144, 6144), 0, 64, 64),
      plan(parse_pattern("window:128", 6144, 6144), 0, 64, 64)};
  const std::vector<TileItem> items = work_items(plans, 3, true);
  std::map<std::pair<int, int>, std::vector<int>> seen;
  int longest = 32;
  for (const TileItem& item : items) {
    EXPECT_LE(item.tiles, longest);
    EXPECT_GE(item.tiles, 1);
    longest = item.tiles;
    std::vector<int>& tiles = seen[{item.head, item.row_tile}];
    tiles.resize(static_cast<std::size_t>(
        plans[static_cast<std::size_t>(item.head % 2)].tiles_of(item.row_tile)));
    for (int i = 0; i < item.tiles; ++i) ++tiles.at(static_cast<std::size_t>(item.first + i));
  }
  EXPECT_EQ(seen.size(), 3u * 96u);
  for (const auto& [where, tiles] : seen) {
    EXPECT_EQ(std::count(tiles.begin(), tiles.end(), 1), static_cast<std::ptrdiff_t>(tiles.size()));
  }
}

TEST(WorkItems, SplitWhatIsManyTimesTheMean) {
  EXPECT_EQ(parts_of_row_tile(33, 9.0, 64), 1);  // not four times the mean
  EXPECT_EQ(parts_of_row_tile(32, 1.0, 64), 1);  // 2048 keys
  EXPECT_EQ(parts_of_row_tile(33, 8.0, 64), 2);
  EXPECT_EQ(parts_of_row_tile(256, 12.0, 64), 8);
  EXPECT_EQ(parts_of_row_tile(512, 24.0, 32), 8);
  EXPECT_EQ(parts_of_row_tile(1000, 99.5, 64), 10);  // as many keys as the mean
}

TEST(WorkItems, SplitIntoEqualParts) {
  const std::vector<TilePlan> plans = {
      plan(parse_pattern("longformer:8:8", 4160, 4160), 0, 64, 64)};
  const std::vector<TileItem> items = work_items(plans, 1, true);
  ASSERT_EQ(items.size(), 64u + 3u);
  EXPECT_EQ(items[0].tiles, 22);
  EXPECT_EQ(items[2].tiles, 21);
  EXPECT_EQ(items[1].parts, 3);
  EXPECT_EQ(items[3].parts, 1);
}

/// If all tiles of rows are equally long, none is too long.
TEST(WorkItems, SplitNothingWhereAllAreAlike) {
  for (const char* const spec : {"full", "causal", "window:4096", "strided:4", "fixed:256:32"}) {
    const std::vector<TilePlan> plans = {plan(parse_pattern(spec, 16384, 16384), 0, 128, 64)};
    EXPECT_EQ(work_items(plans, 2, true).size(), work_items(plans, 2, false).size()) << spec;
  }
}

TEST(WorkItems, AreNoneWithoutTiles) {
  Pattern nothing = empty_pattern(64, 64);
  const std::vector<TilePlan> plans = {plan(nothing, 0, 64, 64)};
  EXPECT_TRUE(work_items(plans, 4, true).empty());
  EXPECT_EQ(balance_of({}, 8).ratio(), 1.0);
  EXPECT_THROW(balance_of({}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
