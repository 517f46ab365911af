#include "kernels/mask/pattern/grid.h"

#include <gtest/gtest.h>

#include <map>

namespace sparkbench {
namespace {

Grid grid_of(std::initializer_list<int> extents) {
  Grid grid;
  for (const int extent : extents) grid.extent[grid.axes++] = extent;
  return grid;
}

bool contains(const Grid& grid, const Box& box, const Point& point) {
  for (int axis = 0; axis < grid.axes; ++axis) {
    if (!box.range[axis].contains(point.at[axis])) return false;
  }
  return true;
}

TEST(Grid, RoundsCoordinatesDown) {
  const Grid grid = grid_of({9, 4, 5});
  const Point before = coordinates(grid, -1);
  EXPECT_EQ(before.at[0], -1);
  EXPECT_EQ(before.at[1], 3);
  EXPECT_EQ(before.at[2], 4);
  const Point inside = coordinates(grid, 47);
  EXPECT_EQ(inside.at[0], 2);
  EXPECT_EQ(inside.at[1], 1);
  EXPECT_EQ(inside.at[2], 2);
}

TEST(Grid, SplitsPositionsIntoBoxesOnce) {
  for (const Grid& grid :
       {grid_of({40}), grid_of({9, 5}), grid_of({4, 3, 4}), grid_of({40, 1, 1})}) {
    for (int begin = -7; begin < 30; ++begin) {
      for (int end = begin; end < 34; ++end) {
        const Boxes boxes = boxes_of(grid, {begin, end});
        ASSERT_LE(boxes.count, 5);
        for (int position = -9; position < 40; ++position) {
          int holders = 0;
          for (int i = 0; i < boxes.count; ++i) {
            holders += contains(grid, boxes.box[i], coordinates(grid, position));
          }
          ASSERT_EQ(holders, position >= begin && position < end) << begin << ", " << end;
        }
      }
    }
  }
}

TEST(Grid, CountsPositionsOfABoxBelowAnEnd) {
  const Grid grid = grid_of({4, 3, 4});
  const Box box = {{{1, 3}, {0, 2}, {1, 4}}};
  std::int64_t below = 0;
  for (int end = 0; end <= 48; ++end) {
    EXPECT_EQ(positions_below(grid, box, end), below) << end;
    below += contains(grid, box, coordinates(grid, end));
  }
}

/// By definition: W keys around q, shifted to the inside.
TEST(Grid, ClampsNeighbourhoodsAtBorders) {
  Grid grid = grid_of({6});
  grid.clamp = Clamp::kRows;
  grid.zone[0] = zone_of_offsets(-1, 2);
  const std::map<int, int> begins = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 3}};
  for (const auto& [q, begin] : begins) {
    for (int k = 0; k < 6; ++k) {
      EXPECT_EQ(sees(grid, q, k), k >= begin && k < begin + 3) << q << ", " << k;
      EXPECT_EQ(sees(transposed(grid), k, q), sees(grid, q, k)) << q << ", " << k;
    }
  }
}

TEST(Grid, HasExactHullAndCore) {
  for (const Clamp clamp : {Clamp::kNone, Clamp::kRows, Clamp::kKeys}) {
    Grid grid = grid_of({6, 7});
    grid.clamp = clamp;
    grid.zone[0] = zone_of_offsets(-1, 2);
    grid.zone[1] = zone_of_offsets(-2, 2);
    const Box rows = {{{1, 3}, {2, 5}}};
    for (int k = 0; k < 42; ++k) {
      int seen = 0;
      for (int q = 0; q < 42; ++q) {
        seen += contains(grid, rows, coordinates(grid, q)) && sees(grid, q, k);
      }
      EXPECT_EQ(contains(grid, hull(grid, rows), coordinates(grid, k)), seen > 0) << k;
      EXPECT_EQ(contains(grid, core(grid, rows), coordinates(grid, k)), seen == 6) << k;
    }
  }
}

}  // namespace
}  // namespace sparkbench
