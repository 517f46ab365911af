#include "kernels/tile/layout.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

/// Every score of 16 rows and a step's keys belongs to one element of one lane.
template <class Layout>
void expect_a_partition() {
  std::array<std::array<int, Layout::kStepKeys>, 16> owners{};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < Layout::kElements; ++i) {
      ++owners[row_of<Layout>(lane, i)][key_of<Layout>(lane, 0, i)];
    }
  }
  for (const auto& row : owners) {
    for (const int count : row) EXPECT_EQ(count, 1);
  }
}

TEST(Layout, GivesEveryScoreToOneElement) {
  expect_a_partition<GridLayout<Accumulator::kFp16>>();
  expect_a_partition<GridLayout<Accumulator::kFp32>>();
  expect_a_partition<M16n8k16Layout>();
}

TEST(Layout, OfM16n8k16IsThatOfItsFragment) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(row_of<M16n8k16Layout>(lane, i), m16n8k16::c_row(lane, i));
      EXPECT_EQ(key_of<M16n8k16Layout>(lane, 0, i), m16n8k16::c_column(lane, i));
    }
  }
}

}  // namespace
}  // namespace sparkbench
