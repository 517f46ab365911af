#include "harness/model/predict/block_schedule.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sparkbench {
namespace {

constexpr int kSms = 80;

/// Alone on its SM a block takes 10 + 100 a full tile + 150 a cut one + 20.
const std::vector<StageCycles> kOnePlace = {{10, 100, 150, 20}};

/// Two on an SM take 1.5 times as long each.
const std::vector<StageCycles> kTwoPlaces = {{10, 100, 150, 20}, {15, 150, 225, 30}};

BlockGrid equal_blocks(std::uint64_t count, std::int64_t tiles = 1) {
  return {{BlockWork{tiles, 0}}, count};
}

double end_of(const BlockGrid& grid, const std::vector<StageCycles>& stages, int sms = kSms) {
  return schedule_blocks(grid, stages, sms).until_end;
}

TEST(BlockSchedule, OneBlockGoesThroughItsStages) {
  EXPECT_DOUBLE_EQ(end_of({{BlockWork{3, 2}}, 1}, kOnePlace), 10 + 3 * 100 + 2 * 150 + 20);
}

TEST(BlockSchedule, ABlockGoesFromHeadToHead) {
  const std::vector<StageCycles> stages = {{10, 100, 150, 20, 40}};
  EXPECT_DOUBLE_EQ(end_of({{BlockWork{6, 4, 3}}, 1}, stages), 10 + 600 + 600 + 3 * 40 + 20);
}

TEST(BlockSchedule, ACutTileTakesLongerForEachPartAndLessForIdleOnes) {
  const std::vector<StageCycles> stages = {{.prologue = 10,
                                            .full_tile = 100,
                                            .cut_tile = 60,
                                            .epilogue = 20,
                                            .more_part = 30,
                                            .idle_part = 4}};
  const BlockWork work{.full_tiles = 1, .cut_tiles = 2, .more_parts = 3, .idle_parts = 5};
  EXPECT_DOUBLE_EQ(end_of({{work}, 1}, stages), 10 + 100 + 2 * 60 + 3 * 30 - 5 * 4 + 20);
}

TEST(BlockSchedule, ABlockWithoutTilesBeginsAndEnds) {
  EXPECT_DOUBLE_EQ(end_of({{BlockWork{}}, 1}, kOnePlace), 30);
}

TEST(BlockSchedule, EightyBlocksRunSideBySide) {
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(80), kOnePlace), 130);
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(81), kOnePlace), 260);
}

TEST(BlockSchedule, TwoBlocksMeetOnOneSmOnly) {
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(80), kTwoPlaces), 130);
  // The 81st and its neighbour slow each other down.
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(81), kTwoPlaces), 195);
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(160), kTwoPlaces), 195);
}

TEST(BlockSchedule, PlacesFreedAtOnceFillTheEmptiestSm) {
  // 160 end at 195; of the other 80 each has an SM for itself.
  EXPECT_DOUBLE_EQ(end_of(equal_blocks(240), kTwoPlaces), 195 + 130);
}

TEST(BlockSchedule, WhoIsLeftAloneSpeedsUp) {
  // One SM: until 195 both; then the longer has 2 - (195 - 15) / 150 = 0.8 tiles left, 80 + 20.
  EXPECT_DOUBLE_EQ(end_of({{BlockWork{1, 0}, BlockWork{2, 0}}, 1}, kTwoPlaces, 1), 195 + 100);
}

TEST(BlockSchedule, ANewNeighbourSlowsDownFromThenOn) {
  // One SM, three blocks of 1, 2 and 1 tiles. At 195 the third takes the first's place. At 345 the
  // second ends, when the third has a tenth of its tile and its epilogue left.
  const BlockGrid grid{{BlockWork{1, 0}, BlockWork{2, 0}, BlockWork{1, 0}}, 1};
  EXPECT_DOUBLE_EQ(end_of(grid, kTwoPlaces, 1), 345 + 10 + 20);
}

TEST(BlockSchedule, LongBlocksFirstEndSooner) {
  const std::vector<BlockWork> ascending = {{1, 0}, {1, 0}, {4, 0}};
  const std::vector<BlockWork> descending = {{4, 0}, {1, 0}, {1, 0}};
  EXPECT_DOUBLE_EQ(end_of({ascending, 1}, kOnePlace, 2), 130 + 430);
  EXPECT_DOUBLE_EQ(end_of({descending, 1}, kOnePlace, 2), 430);
}

TEST(BlockSchedule, HeadsFollowEachOther) {
  // On two SMs: 1, then the second head's 1 and 3 tiles, beside the first head's 3.
  EXPECT_DOUBLE_EQ(end_of({{BlockWork{1, 0}, BlockWork{3, 0}}, 2}, kOnePlace, 2), 130 + 130 + 330);
}

TEST(BlockSchedule, EvenlySpreadWorkIsTheLeast) {
  const ScheduledCycles scheduled = schedule_blocks(equal_blocks(81), kOnePlace, kSms);
  EXPECT_DOUBLE_EQ(scheduled.evenly, 81 * 130.0 / 80);
  EXPECT_GT(scheduled.until_end, scheduled.evenly);
}

/// Query blocks of a causal mask, the longest first, as a forward pass launches them.
BlockGrid causal_grid(std::int64_t blocks, std::uint64_t heads) {
  BlockGrid grid{{}, heads};
  for (std::int64_t block = blocks; block-- > 0;) grid.of_head.push_back({2 * block, 2});
  return grid;
}

TEST(BlockSchedule, CausalBlocksFillTheLastWave) {
  const ScheduledCycles scheduled = schedule_blocks(causal_grid(32, 128), kTwoPlaces, kSms);
  EXPECT_GT(scheduled.until_end, scheduled.evenly);
  EXPECT_LT(scheduled.until_end, 1.03 * scheduled.evenly);
}

TEST(BlockSchedule, LargeGridsAreContinuedAtTheSameRate) {
  const double followed = end_of(causal_grid(32, 3125), kTwoPlaces);   // 100,000 blocks
  const double continued = end_of(causal_grid(32, 6250), kTwoPlaces);  // of which half are followed
  EXPECT_NEAR(continued / followed, 2.0, 0.002);
}

TEST(BlockSchedule, FollowsAHundredThousandBlocksAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(end_of(causal_grid(128, 781), kTwoPlaces), 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 2.0);  // 0.03 s on one core of a server; a loaded machine has its time
  RecordProperty("seconds", std::to_string(took.count()));
}

TEST(BlockSchedule, AHeadOfPackedSequencesComesBeforeTheNextPlace) {
  // Two SMs, three heads, a long place and a short one: 3 and 3 blocks by places, longest first.
  const BlockGrid by_place{{BlockWork{4, 0}, BlockWork{1, 0}}, 3, true};
  const std::vector<StageCycles> stages = {{0, 100, 150, 0}};
  // 400 | 400, then 400 | 100 100 100.
  EXPECT_DOUBLE_EQ(end_of(by_place, stages, 2), 800);
  // 4 1 4 1 4 1: 400 | 100 400 | 100, 400 | 100.
  const BlockGrid by_head{{BlockWork{4, 0}, BlockWork{1, 0}}, 3};
  EXPECT_DOUBLE_EQ(end_of(by_head, stages, 2), 900);
}

}  // namespace
}  // namespace sparkbench
