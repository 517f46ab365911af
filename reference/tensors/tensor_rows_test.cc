#include "reference/tensors/tensor_rows.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sparkbench {
namespace {

constexpr TensorShape kShape = {/*batch=*/2, /*seqlen=*/4, /*heads=*/3, /*head_dim=*/2};

TEST(RowOf, LiesWhereTheInterleavedLayoutPutsIt) {
  std::vector<int> tensor(48);
  for (int i = 0; i < 48; ++i) tensor[static_cast<std::size_t>(i)] = i;
  // Element (b, s, h, d) lies at ((b * 4 + s) * 3 + h) * 2 + d.
  const auto row = row_of(std::span<const int>(tensor), kShape, KeyRow{1, 2, 3});
  ASSERT_EQ(row.size(), 2u);
  EXPECT_EQ(row[0], 46);
  EXPECT_EQ(row_of(std::span<const int>(tensor), kShape, QueryRow{0, 1, 2})[1], 15);
}

TEST(AllRowsOf, AreTheBatchTimesTheHeadsTimesTheSequenceAscending) {
  const auto rows = all_rows_of<KeyRow>(kShape);
  ASSERT_EQ(rows.size(), 24u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1], rows[i]);
  EXPECT_EQ(rows[13], (KeyRow{1, 0, 1}));
}

TEST(SampleRowsOf, HoldOneRowOfEachEqualStretch) {
  const auto rows = sample_rows_of<KeyRow>({1, 400, 1, 8}, 100);
  ASSERT_EQ(rows.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)].row / 4, i);
}

TEST(SplitByHead, CutsAtHeadsAndAtTheLargestRun) {
  const std::vector<QueryRow> rows = {{0, 0, 1}, {0, 0, 2}, {0, 0, 7}, {0, 1, 0}, {1, 1, 0}};
  const auto runs = split_by_head<QueryRow>(rows, 2);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].size(), 2u);
  EXPECT_EQ(runs[1].front(), (QueryRow{0, 0, 7}));
  EXPECT_EQ(runs[2].front(), (QueryRow{0, 1, 0}));
  EXPECT_EQ(runs[3].front(), (QueryRow{1, 1, 0}));
  EXPECT_TRUE(split_by_head<KeyRow>({}, 2).empty());
}

TEST(CheckRows, RefuseRowsOutsideTheTensorAndRowsThatDoNotAscend) {
  const auto check = [](std::vector<KeyRow> rows) { check_rows<KeyRow>(kShape, rows); };
  EXPECT_NO_THROW(check({{0, 0, 0}, {1, 2, 3}}));
  EXPECT_THROW(check({{0, 0, 4}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 3, 0}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 0, -1}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 1, 0}, {0, 1, 0}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 1, 0}, {0, 0, 1}}), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
