#include "kernels/mask/pattern/grid_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/test_orders.h"

namespace sparkbench {
namespace {

constexpr int kExtents[][kOrderAxes] = {{16, 8, 1},  {56, 56, 1}, {9, 15, 1}, {1, 8, 11},
                                        {70, 2, 1},  {2, 70, 1},  {6, 8, 12}, {5, 9, 7},
                                        {30, 3, 10}, {4, 4, 4},   {64, 1, 1}, {1, 1, 77}};

template <class Visit>
void for_each_order(const Visit& visit) {
  for (const auto& extent : kExtents) {
    for (const GridOrder& order : orders_of(extent)) {
      SCOPED_TRACE(name_of_order(order));
      visit(order);
    }
  }
}

TEST(GridOrder, GivesEachTokenOneOwner) {
  for_each_order([](const GridOrder& order) {
    std::vector<int> owners(static_cast<std::size_t>(order.tokens()), 0);
    for (int position = 0; position < order.positions(); ++position) {
      const int token = order.token_of(position);
      ASSERT_TRUE(0 <= token && token < order.tokens()) << position;
      if (order.owns(position)) {
        ++owners[static_cast<std::size_t>(token)];
        ASSERT_EQ(order.position_of(token), position);
      }
      ASSERT_EQ(order.token_of(order.position_of(token)), token);
    }
    EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), order.tokens());
  });
}

/// Kernels find a tile's tokens by it.
TEST(GridOrder, HasATileByStepsOfBits) {
  for_each_order([](const GridOrder& order) {
    for (int position = 0; position < order.positions(); ++position) {
      int token = order.token_of(position / kOrderTile * kOrderTile);
      for (int bit = 0; bit < kOrderTileBits; ++bit) {
        if ((position >> bit & 1) != 0) token += order.step_of_bit(bit);
      }
      ASSERT_EQ(token, order.token_of(position)) << position;
    }
  });
}

TEST(GridOrder, HasNoPositionThatOwnsNothingWhereTilesFit) {
  for_each_order([](const GridOrder& order) {
    bool fits = true;
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      fits = fits && order.extent[axis] % order.tile_extent(axis) == 0;
    }
    EXPECT_EQ(order.positions() == order.tokens(), fits);
  });
}

/// An 8 x 16 grid in tiles of 4 x 16, whose halves are 4 x 8; and tiles of 8 x 8 over 10 columns.
TEST(GridOrder, IsAsByHand) {
  const GridOrder halves = {{8, 16, 1}, {2, 4, 0}, {0, 2, 6}};
  EXPECT_EQ(halves.token_of(0), 0);
  EXPECT_EQ(halves.token_of(1), 16);
  EXPECT_EQ(halves.token_of(3), 48);
  EXPECT_EQ(halves.token_of(4), 1);
  EXPECT_EQ(halves.token_of(32), 8);
  EXPECT_EQ(halves.token_of(63), 63);
  EXPECT_EQ(halves.token_of(64), 64);
  // Ten columns: the second tile begins at column 2 and owns columns 8 and 9.
  const GridOrder shared = {{8, 10, 1}, {3, 3, 0}, {3, 0, 6}};
  EXPECT_EQ(shared.positions(), 128);
  EXPECT_EQ(shared.token_of(64), 2);
  EXPECT_FALSE(shared.owns(64));
  EXPECT_TRUE(shared.owns(64 + 6));
  EXPECT_EQ(shared.position_of(8), 64 + 6);
  EXPECT_EQ(shared.position_of(7), 7);
  // Lines of 64 in tiles of 2 x 32: the tile behind the first has the next two lines.
  const GridOrder lines = {{4, 64, 1}, {1, 5, 0}, {5, 0, 6}, 0};
  EXPECT_EQ(lines.token_of(31), 31);
  EXPECT_EQ(lines.token_of(32), 64);
  EXPECT_EQ(lines.token_of(64), 128);
  EXPECT_EQ(lines.token_of(128), 32);
  EXPECT_EQ(lines.position_of(3 * 64 + 33), 3 * 64 + 33);
}

TEST(OrderBoxes, HoldTheTokensOfTheirPositions) {
  for_each_order([](const GridOrder& order) {
    for (int log = 0; log <= kOrderTileBits; ++log) {
      for (int first = 0; first < order.positions(); first += 1 << log) {
        const OrderBox box = box_of(order, first, log);
        int all = 1, owned = 1;
        for (int axis = 0; axis < kOrderAxes; ++axis) {
          all *= box.all.range[axis].size();
          owned *= box.owned.range[axis].size();
        }
        ASSERT_EQ(all, 1 << log);
        int owners = 0;
        for (int position = first; position < first + (1 << log); ++position) {
          const GridOrder::Place place = order.place_of_position(position);
          owners += place.owns;
          for (int axis = 0; axis < kOrderAxes; ++axis) {
            ASSERT_TRUE(box.all.range[axis].contains(place.at[axis])) << position;
            ASSERT_TRUE(!place.owns || box.owned.range[axis].contains(place.at[axis])) << position;
          }
        }
        ASSERT_EQ(owned, owners);
        ASSERT_EQ(owns_all(box), owned == all);
      }
    }
  });
}

}  // namespace
}  // namespace sparkbench
