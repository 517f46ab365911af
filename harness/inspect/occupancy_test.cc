#include "harness/inspect/occupancy.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(Occupancy, OfFullRegistersIsEightWarps) {
  const Occupancy occupancy = volta_occupancy(255, 0, 128);
  EXPECT_EQ(occupancy.blocks, 2);
  EXPECT_EQ(occupancy.warps, 8);
  EXPECT_EQ(occupancy.limiter, "registers");
}

TEST(Occupancy, RoundsAWarpsRegistersUpToTwoHundredAndFiftySix) {
  EXPECT_EQ(volta_occupancy(168, 0, 128).blocks, 3);  // 21 units a warp, 64 a sub-partition
  EXPECT_EQ(volta_occupancy(169, 0, 128).blocks, 2);  // 22
  EXPECT_EQ(volta_occupancy(32, 0, 128).blocks, 16);
  EXPECT_EQ(volta_occupancy(33, 0, 128).blocks, 12);
}

TEST(Occupancy, SpreadsSmallBlocksOverTheSubPartitions) {
  EXPECT_EQ(volta_occupancy(168, 0, 64).blocks, 6);  // three warps a sub-partition
}

TEST(Occupancy, IsLimitedBySharedMemory) {
  const Occupancy occupancy = volta_occupancy(128, 32 * 1024 + 1, 128);
  EXPECT_EQ(occupancy.blocks, 2);
  EXPECT_EQ(occupancy.limiter, "shared memory");
  EXPECT_EQ(volta_occupancy(128, 32 * 1024, 128).blocks, 3);
  EXPECT_EQ(volta_occupancy(128, 96 * 1024 + 1, 128).blocks, 0);
}

TEST(Occupancy, IsLimitedByThreadsAndBlocks) {
  EXPECT_EQ(volta_occupancy(16, 0, 1024).blocks, 2);
  EXPECT_EQ(volta_occupancy(16, 0, 1024).limiter, "threads");
  EXPECT_EQ(volta_occupancy(16, 0, 32).blocks, 32);
  EXPECT_EQ(volta_occupancy(16, 0, 32).limiter, "blocks");
}

}  // namespace
}  // namespace sparkbench
