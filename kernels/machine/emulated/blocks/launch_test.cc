#include "kernels/machine/emulated/blocks/launch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr int kThreads = 128;

/// The sum of 128 numbers a block: by shuffles in a warp, then through shared memory.
void block_sum(EmulatedMachine& machine, const float* in, float* out) {
  float sum = machine.load_global<float>(in + kThreads * machine.block(0) + machine.thread());
  for (const int mask : {16, 8, 4, 2, 1}) sum += machine.shuffle_xor(sum, mask);
  float* const warp_sums = &machine.shared<float>();
  if (machine.lane() == 0) machine.store_shared(warp_sums + machine.warp(), sum);
  machine.barrier();
  float total = 0.0f;
  for (int warp = 0; warp < kThreads / kWarpLanes; ++warp) {
    total += machine.load_shared<float>(warp_sums + warp);
  }
  if (machine.thread() == 0) machine.store_global(out + machine.block(0), total);
}

class BlockSumTest : public testing::Test {
 protected:
  static constexpr int kBlocks = 40;

  BlockSumTest() {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = 1.0f / static_cast<float>(3 + i);
  }
  EmulationReport sum(std::uint64_t schedule_seed, int workers) {
    const std::vector<GlobalRegion> regions = {
        {"in", in_.data(), in_.size() * sizeof(float), true},
        {"out", out_.data(), out_.size() * sizeof(float), false}};
    return run({.warps = kThreads / kWarpLanes,
                .grid = {kBlocks, 1, 1},
                .regions = regions,
                .schedule_seed = schedule_seed,
                .workers = workers},
               [&](EmulatedMachine& machine) { block_sum(machine, in_.data(), out_.data()); });
  }
  std::vector<std::uint32_t> out_bits() const {
    std::vector<std::uint32_t> bits(out_.size());
    std::transform(out_.begin(), out_.end(), bits.begin(), float_bits);
    return bits;
  }

  std::vector<float> in_ = std::vector<float>(kBlocks * kThreads);
  std::vector<float> out_ = std::vector<float>(kBlocks);
};

TEST_F(BlockSumTest, HasTheSameBitsUnderEverySchedule) {
  const EmulationReport natural = sum(0, 1);
  EXPECT_EQ(natural.findings_total, 0u);
  const std::vector<std::uint32_t> expected = out_bits();
  const float exact = std::accumulate(in_.begin(), in_.begin() + kThreads, 0.0f);
  EXPECT_NEAR(out_[0], exact, 1e-5f);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    out_.assign(kBlocks, 0.0f);
    const EmulationReport report = sum(seed, 1);
    EXPECT_EQ(report.findings_total, 0u);
    EXPECT_EQ(report.counters, natural.counters);
    EXPECT_EQ(out_bits(), expected);
  }
}

TEST_F(BlockSumTest, IsTheSameOnManyWorkers) {
  const EmulationReport one = sum(0, 1);
  const std::vector<float> expected = out_;
  out_.assign(kBlocks, 0.0f);
  const EmulationReport many = sum(0, 5);
  EXPECT_EQ(out_, expected);
  EXPECT_EQ(many.counters, one.counters);
  EXPECT_EQ(many.counters.shuffles, 5u * 4u * kBlocks);
  EXPECT_EQ(many.counters.barriers, 1u * kBlocks);
}

TEST(Emulate, FindsAResultThatDependsOnTheSchedule) {
  const auto last_writer = [](std::uint64_t seed) {
    int seen = -1;
    const auto report = run({.schedule_seed = seed}, [&](EmulatedMachine& machine) {
      int* const word = &machine.shared<int>();
      machine.store_shared(word, machine.thread());
      machine.sync_warp();
      seen = machine.load_shared<int>(word);
    });
    EXPECT_FALSE(report.findings.empty());
    for (const Finding& finding : report.findings) {
      EXPECT_EQ(finding.kind, FindingKind::kSharedRace);
    }
    return seen;
  };
  EXPECT_EQ(last_writer(0), 31);
  EXPECT_NE(last_writer(1), 31);
  EXPECT_EQ(last_writer(1), last_writer(1));
}

TEST(Emulate, RunsOnlyTheBlocksAskedFor) {
  std::array<int, 8> visits{};
  const LaunchShape shape{"kernel", {4, 2, 1}, 32, 0, {{3, 0, 0}, {1, 1, 0}}};
  emulate(shape, {}, {.profile = &arithmetic_profile("volta")}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 0) return;
    const int visited = machine.block(0) + 4 * machine.block(1);
    ++visits.at(static_cast<std::size_t>(visited));
  });
  EXPECT_EQ(visits, (std::array<int, 8>{0, 0, 0, 1, 0, 1, 0, 0}));
}

/// As a causal kernel's, the work of a block grows with block(0).
EmulationReport count_growing_blocks(const std::vector<std::array<int, 3>>& blocks) {
  const LaunchShape shape{"kernel", {9, 2, 1}, 32, 0, blocks};
  return emulate(shape, {}, {.profile = &arithmetic_profile("volta")},
                 [&](EmulatedMachine& machine) {
                   for (int i = 0; i <= machine.block(0); ++i) machine.shuffle_xor(0, 1);
                 });
}

TEST(Emulate, CountsTheGridFromASampleOfBlocks) {
  const EmulationReport whole = count_growing_blocks({});
  EXPECT_FALSE(whole.is_sample);
  EXPECT_EQ(whole.counters.shuffles, 2u * 45u);
  EXPECT_EQ(whole.grid_counters, whole.counters);
  const EmulationReport sampled = count_growing_blocks({{8, 1, 0}, {0, 0, 0}});
  EXPECT_TRUE(sampled.is_sample);
  EXPECT_EQ(sampled.counters.shuffles, 10u);
  EXPECT_EQ(sampled.grid_counters, whole.counters);
}

TEST(Emulate, CountsTheWholeGridByItsBlocksWork) {
  LaunchShape shape{"kernel", {6, 1, 1}, 32, 0};
  shape.work = {1, 2, 2, 2, 2, 1};
  const auto count = [&] {
    return emulate(shape, {}, {.profile = &arithmetic_profile("volta")},
                   [&](EmulatedMachine& machine) {
                     const auto block = static_cast<std::size_t>(machine.block(0));
                     for (int i = 0; i < shape.work[block]; ++i) machine.shuffle_xor(0, 1);
                   });
  };
  EXPECT_EQ(count().counters.shuffles, 10u);
  shape.blocks = {{0, 0, 0}, {3, 0, 0}};
  EXPECT_EQ(count().grid_counters.shuffles, 10u);
}

TEST(Emulate, AddsUpTheReportsOfLaunches) {
  EmulationReport total = count_growing_blocks({});
  add_report(total, count_growing_blocks({{8, 1, 0}, {0, 0, 0}}));
  EXPECT_TRUE(total.is_sample);
  EXPECT_EQ(total.counters.shuffles, 90u + 10u);
  EXPECT_EQ(total.grid_counters.shuffles, 2u * 90u);
}

TEST(Emulate, RethrowsWhatAKernelThrows) {
  const auto throwing = [](EmulatedMachine& machine) {
    machine.barrier();
    if (machine.block(0) == 7 && machine.thread() == 40) throw std::runtime_error("thread 40");
    machine.barrier();
  };
  for (const int workers : {1, 3}) {
    EXPECT_THROW(run({.warps = 2, .grid = {20, 1, 1}, .workers = workers}, throwing),
                 std::runtime_error);
  }
}

TEST(Emulate, KeepsTwentyFindingsAndCountsAll) {
  const auto report = run({.grid = {3, 1, 1}}, [](EmulatedMachine& machine) {
    const int local = 0;
    for (int i = 0; i < 1000; ++i) machine.load_global<int>(&local);
  });
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings_total, 3u * 32u * 1000u);
}

TEST(Emulate, NamesTheSourceLinesWithMostBankConflicts) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    float* const shared = &machine.shared<float>();
    machine.store_shared(shared + machine.lane(), 0.0f);
    line = __LINE__ + 1;
    machine.store_shared(shared + 32 * machine.lane(), 0.0f);
  });
  ASSERT_EQ(report.sites.size(), 2u);
  EXPECT_EQ(report.sites[0].line, line);
  EXPECT_EQ(report.sites[0].bank_conflicts, 31u);
  EXPECT_EQ(report.sites[1].bank_conflicts, 0u);
}

TEST(Emulate, CountsNothingUnlessAsked) {
  const LaunchShape shape{"kernel", {1, 1, 1}, 32, 128};
  const auto report =
      emulate(shape, {}, {.profile = &arithmetic_profile("volta"), .count = false},
              [](EmulatedMachine& machine) {
                machine.store_shared(&machine.shared<float>() + machine.lane(), machine.exp2(1.0f));
                machine.barrier();
              });
  EXPECT_EQ(report.counters, Counters{});
  EXPECT_TRUE(report.sites.empty());
}

TEST(Emulate, RejectsImpossibleLaunches) {
  const auto nothing = [](EmulatedMachine&) {};
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  const auto launch = [&](const LaunchShape& shape) { emulate(shape, {}, options, nothing); };
  EXPECT_THROW(launch({"kernel", {1, 1, 1}, 33, 0}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {1, 1, 1}, 0, 0}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {1, 1, 1}, 2048, 0}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {1, 0, 1}, 32, 0}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {1, 1, 1}, 32, (96 << 10) + 1}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {1, 1, 1}, 32, 0, {{0, 0, 1}}}), std::invalid_argument);
  EXPECT_THROW(launch({"kernel", {2, 1, 1}, 32, 0, {}, {1.0}}), std::invalid_argument);
  EXPECT_THROW(emulate({"kernel", {1, 1, 1}, 32, 0}, {}, {.profile = nullptr}, nothing),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
