#include "kernels/machine/emulated/blocks/warp_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace sparkbench {
namespace {

TEST(WarpSchedule, NaturalOrderKeepsAWarpRunning) {
  WarpSchedule schedule(0, 7);
  EXPECT_EQ(schedule.lane_mask(), 0);
  EXPECT_EQ(schedule.next_warp(0b1110, 2), 2);
  EXPECT_EQ(schedule.next_warp(0b1010, 2), 1);
}

TEST(WarpSchedule, TakesEveryReadyWarpAndNoOther) {
  WarpSchedule schedule(1, 0);
  std::set<int> taken;
  for (int i = 0; i < 200; ++i) taken.insert(schedule.next_warp(0x80000109u, 0));
  EXPECT_EQ(taken, (std::set<int>{0, 3, 8, 31}));
}

TEST(WarpSchedule, RepeatsItselfForASeedAndBlockOnly) {
  const auto masks = [](std::uint64_t seed, std::uint64_t block) {
    WarpSchedule schedule(seed, block);
    std::vector<int> drawn(20);
    std::generate(drawn.begin(), drawn.end(), [&] { return schedule.lane_mask(); });
    return drawn;
  };
  EXPECT_EQ(masks(5, 9), masks(5, 9));
  EXPECT_NE(masks(5, 9), masks(6, 9));
  EXPECT_NE(masks(5, 9), masks(5, 10));
}

TEST(Permute, ReordersUnderASeedAndLosesNothing) {
  std::vector<int> natural(100);
  std::iota(natural.begin(), natural.end(), 0);
  std::vector<int> permuted = natural;
  permute(permuted, 0);
  EXPECT_EQ(permuted, natural);
  permute(permuted, 3);
  EXPECT_NE(permuted, natural);
  std::sort(permuted.begin(), permuted.end());
  EXPECT_EQ(permuted, natural);
}

}  // namespace
}  // namespace sparkbench
