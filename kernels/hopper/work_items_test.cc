#include "kernels/hopper/work_items.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {
namespace {

constexpr ItemOrder kOrders[] = {ItemOrder::kRowsFirst, ItemOrder::kHeadsFirst};

TEST(HopperItems, AreEachPlaceOfTheGridOnce) {
  for (const ItemOrder order : kOrders) {
    const ItemGrid grid{{5, 3, 2}, 4, order};
    std::set<std::array<int, 3>> places;
    for (int item = 0; item < grid.items(); ++item) {
      int place[3];
      grid.locate(item, place);
      EXPECT_EQ(grid.item_at(place[0], place[1], place[2]), item);
      for (int axis = 0; axis < 3; ++axis) EXPECT_LT(place[axis], grid.extent[axis]);
      places.insert({place[0], place[1], place[2]});
    }
    EXPECT_EQ(places.size(), 30u);
  }
}

TEST(HopperItems, HaveHeadsOfTheSameRowsSideBySideWhereHeadsAreFirst) {
  const ItemGrid rows{{5, 3, 2}, 4, ItemOrder::kRowsFirst},
      heads{{5, 3, 2}, 4, ItemOrder::kHeadsFirst};
  EXPECT_EQ(rows.item_at(2, 1, 1), rows.item_at(1, 1, 1) + 1);
  EXPECT_EQ(heads.item_at(1, 2, 1), heads.item_at(1, 1, 1) + 1);
}

/// A block of a launch, as a machine tells it.
struct OfBlock {
  int of_launch;
  int block(int /*axis*/) const { return of_launch; }
};

TEST(HopperItems, AreDoneOnceByTheBlocksOfALaunch) {
  for (const ItemOrder order : kOrders) {
    const ItemGrid grid{{5, 3, 2}, 4, order};
    std::multiset<int> done;
    for (int block = 0; block < grid.blocks; ++block) {
      for (ItemMachine<OfBlock> item({block}, grid); !item.is_done(); item.advance()) {
        done.insert(grid.item_at(item.block(0), item.block(1), item.block(2)));
      }
    }
    ASSERT_EQ(done.size(), 30u);
    for (int item = 0; item < 30; ++item) EXPECT_EQ(done.count(item), 1u) << item;
  }
}

TEST(HopperItems, AreOfHeadsFirstForShortWindowsOfNarrowHeads) {
  const auto order = [](const MaskSpec& mask, int seqlen, int head_dim) {
    return item_order(make_key_mask(mask, seqlen, seqlen), head_dim);
  };
  EXPECT_EQ(order(MaskSpec::window(128), 8192, 64), ItemOrder::kHeadsFirst);
  EXPECT_EQ(order(MaskSpec::window(1024), 8192, 80), ItemOrder::kHeadsFirst);
  EXPECT_EQ(order(MaskSpec::window(1025), 8192, 80), ItemOrder::kRowsFirst);
  EXPECT_EQ(order(MaskSpec::window(128), 8192, 128), ItemOrder::kRowsFirst);
  EXPECT_EQ(order(MaskSpec::full(), 8192, 64), ItemOrder::kRowsFirst);
  EXPECT_EQ(order(MaskSpec::causal(), 512, 64), ItemOrder::kRowsFirst);  // items differ
  EXPECT_EQ(order(MaskSpec::window(128), 0, 64), ItemOrder::kRowsFirst);
}

TEST(HopperItems, AreAlikeWhereRowsSeeAboutAsManyKeysOrAHeadHasOne) {
  const auto are_alike = [](const MaskSpec& mask, int seqlen) {
    return are_items_alike(make_key_mask(mask, seqlen, seqlen));
  };
  EXPECT_TRUE(are_alike(MaskSpec::full(), 4096));
  EXPECT_TRUE(are_alike(MaskSpec::window(128), 4096));
  EXPECT_FALSE(are_alike(MaskSpec::causal(), 4096));
  EXPECT_FALSE(are_alike(MaskSpec::causal(), 129));
  EXPECT_TRUE(are_alike(MaskSpec::causal(), 128));
  EXPECT_TRUE(are_alike(MaskSpec::band(128, -1), 128));
}

TEST(HopperRuns, AreAsManyAsEndFirst) {
  EXPECT_EQ(runs_of_head(256, 32, 2, 132), 4);  // 128 blocks, one run each
  EXPECT_EQ(runs_of_head(256, 132, 2, 132), 1);
  EXPECT_EQ(runs_of_head(1, 8, 2, 132), 1);
  EXPECT_EQ(runs_of_head(256, 1, 0, 132), 128);  // two tiles each
}

TEST(HopperRuns, ShareAllTilesEvenly) {
  for (const int tiles : {1, 5, 12}) {
    for (int runs = 1; runs <= tiles; ++runs) {
      int end = 0;
      for (int run = 0; run < runs; ++run) {
        const Range part = part_of_tiles(tiles, runs, run);
        EXPECT_EQ(part.begin, end);
        EXPECT_GE(part.size(), tiles / runs);
        EXPECT_LE(part.size(), (tiles + runs - 1) / runs);
        end = part.end;
      }
      EXPECT_EQ(end, tiles);
    }
  }
}

}  // namespace
}  // namespace sparkbench::hopper
