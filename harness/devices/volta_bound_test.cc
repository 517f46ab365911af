#include "harness/devices/volta_bound.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

/// The cycles of all 80 SMs in a millisecond, 1.53 million each.
constexpr std::uint64_t kSmCyclesAMs = 80ull * 1'530'000;

TEST(VoltaBound, OfNothingButMmaIsTheTensorPeak) {
  const std::uint64_t mma = kSmCyclesAMs / 2;  // 8 cycles on one of four sub-partitions
  const Bound bound = volta_bound({.mma_m8n8k4 = mma}, 2048 * mma, 0);
  EXPECT_DOUBLE_EQ(bound.least_ms.tensor, 1.0);
  EXPECT_EQ(bound.binding, Resource::kTensor);
  EXPECT_NEAR(bound.tflops, 1024 * 80 * 1.53e-3, 1e-9);  // 125.3: the data sheet's 125
  EXPECT_EQ(bound.chip, "V100-SXM2");
  EXPECT_EQ(bound.sm_count, 80);
  EXPECT_EQ(bound.clock_mhz, 1530.0);
}

TEST(VoltaBound, GivesFp16AccMmaHalfTheIssueSlots) {
  const std::uint64_t mma = kSmCyclesAMs;
  EXPECT_DOUBLE_EQ(volta_bound({.mma_m8n8k4 = mma}, 1, 0).least_ms.issue, 1.0);
  EXPECT_DOUBLE_EQ(volta_bound({.mma_m8n8k4 = mma, .mma_fp16acc = mma}, 1, 0).least_ms.issue, 0.5);
}

TEST(VoltaBound, WidensHalvesOnTheTensorPort) {
  const Bound bound = volta_bound({.half_widenings = 2 * kSmCyclesAMs}, 1, 0);
  EXPECT_DOUBLE_EQ(bound.least_ms.tensor, 1.0);
  EXPECT_DOUBLE_EQ(bound.least_ms.issue, 0.5);
}

TEST(VoltaBound, CountsAnIssueSlotForEveryInstruction) {
  Counters counters;
  const auto instructions = {
      &Counters::mufu,          &Counters::half_conversions, &Counters::half_widenings,
      &Counters::fma,           &Counters::shuffles,         &Counters::barriers,
      &Counters::shared_loads,  &Counters::shared_stores,    &Counters::global_loads,
      &Counters::global_stores, &Counters::global_atomics};
  for (const auto field : instructions) counters.*field = kSmCyclesAMs;
  EXPECT_DOUBLE_EQ(volta_bound(counters, 1, 0).least_ms.issue, 11.0 / 4.0);
}

TEST(VoltaBound, GivesEachWavefrontAndShuffleOneSmCycle) {
  const Bound bound = volta_bound({.shuffles = kSmCyclesAMs,
                                   .shared_wavefronts = 2 * kSmCyclesAMs,
                                   .bank_conflicts = kSmCyclesAMs,  // included in the wavefronts
                                   .global_wavefronts = kSmCyclesAMs},
                                  1, 0);
  EXPECT_DOUBLE_EQ(bound.least_ms.lsu, 4.0);
  EXPECT_EQ(bound.binding, Resource::kLsu);
}

TEST(VoltaBound, RunsConversionsToHalfOnTheXu) {
  const Bound bound =
      volta_bound({.mufu = kSmCyclesAMs / 4, .half_conversions = kSmCyclesAMs / 4}, 1, 0);
  EXPECT_DOUBLE_EQ(bound.least_ms.xu, 1.0);
  EXPECT_EQ(bound.binding, Resource::kXu);
}

TEST(VoltaBound, MovesSectorsThroughL2AndBytesThroughHbm) {
  const Bound of_l2 = volta_bound({.global_sectors_read = 2155 * 10'000,
                                   .global_sectors_written = 2155 * 15'000,
                                   .global_sectors_added = 2155 * 6'250},
                                  1, 90'000'000);
  EXPECT_DOUBLE_EQ(of_l2.least_ms.l2, 1.0);
  EXPECT_DOUBLE_EQ(of_l2.least_ms.hbm, 0.1);
  EXPECT_EQ(of_l2.binding, Resource::kL2);
  const Bound of_hbm = volta_bound({}, 2'000'000'000, 900'000'000);
  EXPECT_EQ(of_hbm.binding, Resource::kHbm);
  EXPECT_DOUBLE_EQ(of_hbm.least_ms.hbm, 1.0);
  EXPECT_DOUBLE_EQ(of_hbm.tflops, 2.0);
}

}  // namespace
}  // namespace sparkbench
