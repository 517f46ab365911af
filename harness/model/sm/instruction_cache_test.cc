#include "harness/model/sm/instruction_cache.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(InstructionCache, DelaysAJumpButNotTheNextLine) {
  const SmConstants constants;
  InstructionCaches caches(constants, 10);
  EXPECT_EQ(caches.enter(0, 5, -1, 100), 20);
  EXPECT_EQ(caches.enter(0, 6, 5, 130), 0);
  EXPECT_EQ(caches.enter(0, 5, 6, 140), 0);
  EXPECT_EQ(caches.enter(1, 5, -1, 140), 20) << "each scheduler has its own";
}

TEST(InstructionCache, KeepsWhatItEnteredLast) {
  SmConstants constants;
  constants.icache_bytes = 512;  // four lines
  constants.fetch_ahead = 0;
  InstructionCaches caches(constants, 10);
  for (const int line : {0, 2, 4, 6}) EXPECT_EQ(caches.enter(0, line, -1, 0), 20);
  EXPECT_EQ(caches.enter(0, 0, -1, 50), 0);   // now line 2 is the oldest
  EXPECT_EQ(caches.enter(0, 8, -1, 50), 20);  // in its place
  EXPECT_EQ(caches.enter(0, 0, -1, 90), 0);
  EXPECT_EQ(caches.enter(0, 2, -1, 90), 20);
}

TEST(InstructionCache, IsFilledAtALimitedRate) {
  SmConstants constants;
  constants.scheduler_fetch_bytes = 8;
  constants.l0_miss_latency = 20;
  InstructionCaches caches(constants, 10);
  EXPECT_EQ(caches.enter(0, 0, -1, 0), 16 + 20);  // 128 bytes at 8 a cycle
  EXPECT_EQ(caches.enter(0, 1, 0, 36), 16);       // fetched behind the first one
  EXPECT_EQ(caches.enter(0, 2, 1, 68), 0);
  EXPECT_EQ(caches.enter(1, 0, -1, 36), 36) << "the limit is a scheduler's";
}

TEST(InstructionCache, SharesTheLimitOfTheSm) {
  SmConstants constants;
  constants.sm_fetch_bytes = 32;
  constants.fetch_ahead = 0;
  InstructionCaches caches(constants, 10);
  EXPECT_EQ(caches.enter(0, 0, -1, 0), 4);
  EXPECT_EQ(caches.enter(1, 0, -1, 0), 8);
}

}  // namespace
}  // namespace sparkbench
