#include "reference/unfused/needed_columns.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(NeededColumns, AreTheBlocksThatARowSees) {
  const std::vector<VisibleRuns> rows = {{{3, 5}}, {}, {{40, 70}}};
  const NeededColumns needed(75, rows);
  std::vector<int> want;
  for (int column = 0; column < 75; ++column) {
    if (column < 16 || column >= 32) want.push_back(column);
  }
  EXPECT_EQ(std::vector<int>(needed.columns().begin(), needed.columns().end()), want);
  EXPECT_EQ(needed.place_of({3, 5}), 3u);
  EXPECT_EQ(needed.place_of({40, 70}), 24u);
}

TEST(NeededColumns, AreAllOrNone) {
  EXPECT_EQ(NeededColumns(21).size(), 21u);
  EXPECT_EQ(NeededColumns(21).place_of({17, 19}), 17u);
  const std::vector<VisibleRuns> blind = {{}, {}};
  EXPECT_EQ(NeededColumns(21, blind).size(), 0u);
}

TEST(NeededColumns, ScatteredValuesAreFoundAgain) {
  const std::vector<VisibleRuns> rows = {{{1, 3}, {33, 34}}};
  const NeededColumns needed(48, rows);
  ASSERT_EQ(needed.size(), 32u);
  std::vector<float> row(needed.size());
  const std::vector<float> values = {1, 2, 3};
  scatter(values, needed, rows[0], row.data());
  EXPECT_EQ(row[1], 1);
  EXPECT_EQ(row[2], 2);
  EXPECT_EQ(row[17], 3);
  const std::vector<float> numbers(row.size(), 5.0f);
  EXPECT_EQ(visible_of(numbers, needed, rows[0]), (std::vector<float>{5, 5, 5}));
}

}  // namespace
}  // namespace sparkbench
