#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <array>

namespace sparkbench {
namespace {

TEST(VisibleKeys, AreAllOfThemWithoutAMask) { EXPECT_EQ(visible_keys(0, 5, 9, false), 9); }

TEST(VisibleKeys, FormATriangleWhenLengthsAreEqual) {
  for (int row = 0; row < 4; ++row) EXPECT_EQ(visible_keys(row, 4, 4, true), row + 1);
}

TEST(VisibleKeys, AlignToTheBottomRightWhenThereAreMoreKeys) {
  EXPECT_EQ(visible_keys(0, 2, 5, true), 4);
  EXPECT_EQ(visible_keys(1, 2, 5, true), 5);
}

TEST(VisibleKeys, LeaveTheFirstRowsFullyMaskedWhenThereAreMoreQueries) {
  EXPECT_EQ(visible_keys(0, 5, 2, true), 0);
  EXPECT_EQ(visible_keys(2, 5, 2, true), 0);
  EXPECT_EQ(visible_keys(3, 5, 2, true), 1);
  EXPECT_EQ(visible_keys(4, 5, 2, true), 2);
}

TEST(Problem, ScalesByTheRootOfTheHeadDimUnlessGiven) {
  Problem problem;
  problem.head_dim = 64;
  EXPECT_EQ(problem.scale(), 0.125f);
  problem.softmax_scale = 0.5f;
  EXPECT_EQ(problem.scale(), 0.5f);
}

TEST(Problem, CountsElementsBeyond32Bits) {
  Problem problem{.batch = 64, .heads = 64, .seqlen_q = 16384, .seqlen_k = 32768, .head_dim = 128};
  EXPECT_EQ(problem.q_elements(), std::size_t{1} << 33);
  EXPECT_EQ(problem.k_elements(), std::size_t{1} << 34);
  EXPECT_EQ(problem.lse_elements(), std::size_t{1} << 26);
}

TEST(Dropout, AppliesPIn256thsAndAlwaysKeepsSomething) {
  EXPECT_EQ(make_dropout(0.0f, 1).threshold, 0u);
  EXPECT_EQ(make_dropout(0.1f, 1).threshold, 26u);
  EXPECT_EQ(make_dropout(0.5f, 1).threshold, 128u);
  EXPECT_EQ(make_dropout(0.999f, 1).threshold, 255u);
  EXPECT_EQ(make_dropout(0.5f, 1).keep_scale(), 2.0f);
}

TEST(Dropout, GivesEachElementOfA64ColumnGroupItsOwnByte) {
  std::array<int, 64> uses{};
  for (std::uint32_t column = 0; column < 64; ++column) {
    const std::uint32_t byte = 2 * ((column >> 3) & 7) + (column & 1);
    ++uses[((column >> 1) & 3) * 16 + byte];
  }
  for (const int count : uses) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace sparkbench
