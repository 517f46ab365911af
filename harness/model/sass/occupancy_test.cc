#include "harness/model/sass/occupancy.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

Occupancy volta(int registers, int shared_bytes, int threads) {
  return occupancy_of(70, registers, shared_bytes, threads).value();
}

TEST(Occupancy, OfFullRegistersIsEightWarps) {
  const Occupancy occupancy = volta(255, 0, 128);
  EXPECT_EQ(occupancy.blocks, 2);
  EXPECT_EQ(occupancy.warps, 8);
  EXPECT_EQ(occupancy.limiter, "registers");
}

TEST(Occupancy, RoundsTheRegistersOfAWarpUp) {
  EXPECT_EQ(volta(168, 0, 128).blocks, 3);  // 21 units a warp, 64 a sub-partition
  EXPECT_EQ(volta(169, 0, 128).blocks, 2);  // 22
  EXPECT_EQ(volta(32, 0, 128).blocks, 16);
  EXPECT_EQ(volta(33, 0, 128).blocks, 12);
}

TEST(Occupancy, SpreadsSmallBlocksOverTheSubPartitions) {
  EXPECT_EQ(volta(168, 0, 64).blocks, 6);  // three warps a sub-partition
}

TEST(Occupancy, IsLimitedBySharedMemory) {
  const Occupancy occupancy = volta(128, 32 * 1024 + 1, 128);
  EXPECT_EQ(occupancy.blocks, 2);
  EXPECT_EQ(occupancy.limiter, "shared memory");
  EXPECT_EQ(volta(128, 32 * 1024, 128).blocks, 3);
  EXPECT_EQ(volta(128, 96 * 1024 + 1, 128).blocks, 0);
}

TEST(Occupancy, IsLimitedByThreadsAndBlocks) {
  EXPECT_EQ(volta(16, 0, 1024).blocks, 2);
  EXPECT_EQ(volta(16, 0, 1024).limiter, "threads");
  EXPECT_EQ(volta(16, 0, 32).blocks, 32);
  EXPECT_EQ(volta(16, 0, 32).limiter, "blocks");
}

TEST(Occupancy, KnowsLaterArchitecturesLimits) {
  EXPECT_EQ(occupancy_of(75, 64, 64 * 1024, 128)->blocks, 1);
  EXPECT_EQ(occupancy_of(75, 16, 0, 32)->blocks, 16);
  EXPECT_EQ(occupancy_of(80, 64, 82 * 1024, 128)->blocks, 1);  // 1 KiB of each is the system's
  EXPECT_EQ(occupancy_of(80, 64, 81 * 1024, 128)->blocks, 2);
  EXPECT_EQ(occupancy_of(90, 64, 113 * 1024, 128)->blocks, 2);
}

TEST(Occupancy, OfAnUnknownArchitectureIsUnknown) { EXPECT_FALSE(occupancy_of(61, 64, 0, 128)); }

}  // namespace
}  // namespace sparkbench
