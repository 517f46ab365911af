#include "reference/tensors/tensor_rows.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/mask/test_masks.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {
namespace {

constexpr TensorShape kRowsShape = {/*batch=*/2, /*seqlen=*/4, /*heads=*/3, /*head_dim=*/2};

/// Element i is i.
std::vector<Half> counted() {
  std::vector<Half> tensor(48);
  for (std::size_t i = 0; i < 48; ++i) tensor[i].bits = static_cast<std::uint16_t>(i);
  return tensor;
}

TEST(RowOf, LiesWhereTheInterleavedLayoutPutsIt) {
  const std::vector<Half> tensor = counted();
  // Element (b, s, h, d) is at ((b * 4 + s) * 3 + h) * 2 + d.
  const auto row = row_of(tensor, kRowsShape, KeyRow{1, 2, 3});
  ASSERT_EQ(row.size(), 2u);
  EXPECT_EQ(row[0].bits, 46);
  EXPECT_EQ(row_of(tensor, kRowsShape, QueryRow{0, 1, 2})[1].bits, 15);
}

TEST(GatherRowsOf, ReadsEveryLayoutInPlace) {
  const std::vector<KeyRow> rows = {{0, 1, 2}, {1, 2, 3}};
  for (const TestLayout layout : kTestLayouts) {
    const LaidOutTensor tensor(counted(), kRowsShape, layout);
    const auto gathered = gather_rows_of<KeyRow>(tensor.tensor(), kRowsShape, rows);
    ASSERT_EQ(gathered.size(), 4u);
    const int want[] = {14, 15, 46, 47};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(gathered[i].bits, want[i]) << name_of(layout);
  }
}

TEST(VisibleTo, IsWhatTheMaskSaysBothWays) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair{50, 50}, {3, 70}, {70, 3}, {1, 9}}) {
    for (const MaskSpec& mask : kTestMasks) {
      const Problem problem{1, 1, seqlen_q, seqlen_k, 2, mask};
      for (int q = 0; q < seqlen_q; ++q) {
        for (int k = 0; k < seqlen_k; ++k) {
          const bool sees =
              sees_by_definition(problem.mask, problem.seqlen_q, problem.seqlen_k, q, k);
          ASSERT_EQ(visible_to(problem, QueryRow{0, 0, q}).contains(k), sees) << name_of(mask);
          ASSERT_EQ(visible_to(problem, KeyRow{0, 0, k}).contains(q), sees) << name_of(mask);
        }
      }
    }
  }
}

TEST(VisibleTo, IsEmptyAtZeroWhereThereIsNothing) {
  const auto expect_nothing = [](const Range& range) {
    EXPECT_EQ(range.begin, 0);
    EXPECT_EQ(range.end, 0);
  };
  expect_nothing(visible_to(Problem{1, 1, 9, 3, 2, MaskSpec::window(2)}, QueryRow{0, 0, 4}));
  expect_nothing(visible_to(Problem{1, 1, 3, 9, 2, MaskSpec::window(2)}, KeyRow{0, 0, 4}));
}

TEST(AllRowsOf, AreEveryRowAscending) {
  const auto rows = all_rows_of<KeyRow>(kRowsShape);
  ASSERT_EQ(rows.size(), 24u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1], rows[i]);
  EXPECT_EQ(rows[13], (KeyRow{1, 0, 1}));
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

TEST(CheckRows, RefuseRowsOutsideAndOutOfOrder) {
  const auto check = [](std::vector<KeyRow> rows) { check_rows<KeyRow>(kRowsShape, rows); };
  EXPECT_NO_THROW(check({{0, 0, 0}, {1, 2, 3}}));
  EXPECT_THROW(check({{0, 0, 4}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 3, 0}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 0, -1}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 1, 0}, {0, 1, 0}}), std::invalid_argument);
  EXPECT_THROW(check({{0, 1, 0}, {0, 0, 1}}), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
