#include "kernels/machine/emulated/memory/bank_conflicts.h"

#include <gtest/gtest.h>

#include <functional>

namespace sparkbench {
namespace {

constexpr std::uint32_t kAll = 0xffffffffu;

LaneAddresses addresses(const std::function<std::uintptr_t(std::uintptr_t)>& of_lane) {
  LaneAddresses address;
  for (std::uintptr_t lane = 0; lane < kWarpLanes; ++lane) address[lane] = of_lane(lane);
  return address;
}

void expect_cost(const SharedCost& cost, std::uint32_t requests, std::uint32_t wavefronts) {
  EXPECT_EQ(cost.requests, requests);
  EXPECT_EQ(cost.wavefronts, wavefronts);
}

TEST(SharedCost, ConsecutiveWordsTakeOneWavefront) {
  expect_cost(shared_cost(addresses([](auto lane) { return 4 * lane; }), kAll, 4), 1, 1);
}

TEST(SharedCost, OneWordForAllLanesIsABroadcast) {
  expect_cost(shared_cost(addresses([](auto) { return 64; }), kAll, 4), 1, 1);
}

TEST(SharedCost, AStrideOfTwoWordsConflictsTwofold) {
  expect_cost(shared_cost(addresses([](auto lane) { return 8 * lane; }), kAll, 4), 1, 2);
}

TEST(SharedCost, AColumnIsServedLaneByLane) {
  expect_cost(shared_cost(addresses([](auto lane) { return 128 * lane; }), kAll, 4), 1, 32);
}

TEST(SharedCost, APaddedRowOf33WordsHasNoConflict) {
  expect_cost(shared_cost(addresses([](auto lane) { return 132 * lane; }), kAll, 4), 1, 1);
}

TEST(SharedCost, SharedWordsOfOneBankCountOnce) {
  // Lanes 4i..4i+3 read word 32 * i: eight distinct words of bank 0.
  expect_cost(shared_cost(addresses([](auto lane) { return 128 * (lane / 4); }), kAll, 4), 1, 8);
}

TEST(SharedCost, EightBytesALaneAreTwoHalfWarps) {
  expect_cost(shared_cost(addresses([](auto lane) { return 8 * lane; }), kAll, 8), 2, 2);
}

TEST(SharedCost, EightBytesStridedBySixteenConflictTwofold) {
  expect_cost(shared_cost(addresses([](auto lane) { return 16 * lane; }), kAll, 8), 2, 4);
}

TEST(SharedCost, SixteenBytesALaneAreFourQuarterWarps) {
  expect_cost(shared_cost(addresses([](auto lane) { return 16 * lane; }), kAll, 16), 4, 4);
}

TEST(RequestCount, CountsTheGroupsThatTakePart) {
  EXPECT_EQ(request_count(kAll, 4), 1u);
  EXPECT_EQ(request_count(kAll, 8), 2u);
  EXPECT_EQ(request_count(kAll, 16), 4u);
  EXPECT_EQ(request_count(1u << 31, 16), 1u);
  EXPECT_EQ(request_count(1u << 31 | 1u, 8), 2u);
  EXPECT_EQ(request_count(0, 4), 0u);
}

TEST(SharedCost, RowsOf128BytesConflictEightfold) {
  // A fp16 tile with 64 columns without a swizzle: chunk 0 of 32 rows.
  expect_cost(shared_cost(addresses([](auto lane) { return 128 * lane; }), kAll, 16), 4, 32);
}

TEST(SharedCost, SwizzledChunksDoNotConflict) {
  const auto swizzled = [](auto row) { return 128 * row + 16 * (row % 8); };
  expect_cost(shared_cost(addresses(swizzled), kAll, 16), 4, 4);
}

TEST(SharedCost, RequestsWithoutAnActiveLaneAreNotMade) {
  const LaneAddresses address = addresses([](auto lane) { return 16 * lane; });
  expect_cost(shared_cost(address, 0x000000ffu, 16), 1, 1);
  expect_cost(shared_cost(address, 0x00010001u, 16), 2, 2);
  expect_cost(shared_cost(address, 0, 16), 0, 0);
}

TEST(SharedCost, InactiveLanesCauseNoConflict) {
  const LaneAddresses address = addresses([](auto lane) { return 128 * lane; });
  expect_cost(shared_cost(address, 0x80000000u, 4), 1, 1);
  expect_cost(shared_cost(address, 0x80000001u, 4), 1, 2);
}

TEST(DistinctSectors, AWarpThatReadsConsecutiveWordsTouchesFour) {
  EXPECT_EQ(distinct_sectors(addresses([](auto lane) { return 4 * lane; }), kAll), 4u);
  EXPECT_EQ(distinct_sectors(addresses([](auto lane) { return 16 + 4 * lane; }), kAll), 5u);
}

TEST(DistinctSectors, TheOrderOfLanesDoesNotMatter) {
  EXPECT_EQ(distinct_sectors(addresses([](auto lane) { return 4 * ((lane * 5) % 32); }), kAll), 4u);
}

TEST(DistinctSectors, OneAddressIsOneSector) {
  const LaneAddresses address = addresses([](auto) { return 4096; });
  EXPECT_EQ(distinct_sectors(address, kAll), 1u);
  EXPECT_EQ(distinct_sectors(address, 0), 0u);
}

TEST(DistinctSectors, ARowsStrideTouchesOneALane) {
  EXPECT_EQ(distinct_sectors(addresses([](auto lane) { return 128 * lane; }), kAll), 32u);
  EXPECT_EQ(distinct_sectors(addresses([](auto lane) { return 128 * lane; }), 0xffu), 8u);
}

}  // namespace
}  // namespace sparkbench
