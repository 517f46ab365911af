// Memory that blocks have in turns, and what a correct kernel does not do with it.
#include "kernels/machine/emulated/memory/block_turns.h"

#include <cstdint>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

/// Blocks of two warps, and two turns of 64 sums each.
class Turns : public testing::Test {
 protected:
  static constexpr std::size_t kSums = 64;

  EmulationReport run_blocks(int blocks, const EmulatedKernel& kernel, int workers = 1,
                             std::uint64_t schedule_seed = 0) {
    return run({.warps = 2,
                .grid = {blocks, 1, 1},
                .regions = regions_,
                .schedule_seed = schedule_seed,
                .workers = workers},
               kernel);
  }
  /// Runs `kernel` as the second block, after the first has passed its turn.
  EmulationReport run_second(const EmulatedKernel& kernel) {
    return run_blocks(2, [&](EmulatedMachine& machine) {
      if (machine.block(0) == 1) return kernel(machine);
      machine.await_turn(&turns_[0], 0, true);
      machine.store_global(&sums_[static_cast<std::size_t>(machine.thread())], 1.0f);
      machine.barrier();
      machine.pass_turn(&turns_[0], 1, machine.thread() == 0);
    });
  }
  float* sum_of(EmulatedMachine& machine) {
    return &sums_[static_cast<std::size_t>(machine.thread())];
  }

  std::vector<float> sums_ = std::vector<float>(2 * kSums, 0.0f);
  std::vector<std::uint32_t> turns_ = std::vector<std::uint32_t>(2, 0u);
  std::vector<GlobalRegion> regions_ = {
      {"sums",
       sums_.data(),
       2 * kSums * sizeof(float),
       true,
       true,
       {},
       turns_.data(),
       kSums * sizeof(float)},
      {"turns", turns_.data(), 2 * sizeof(std::uint32_t), true, true}};
};

TEST_F(Turns, OrderWhatBlocksDo) {
  constexpr int kBlocks = 40;
  for (const int workers : {1, 4}) {
    for (const std::uint64_t seed : {0u, 7u}) {
      sums_.assign(sums_.size(), 0.0f);
      turns_ = {0, 0};
      const auto report = run_blocks(
          kBlocks,
          [&](EmulatedMachine& machine) {
            const auto turn = static_cast<std::uint32_t>(machine.block(0));
            const int seen = machine.look_for_turn(&turns_[0], turn);
            machine.await_turn(&turns_[0], turn, seen < 0);
            machine.add_global(sum_of(machine), 1.0f);
            machine.barrier();
            machine.await_turn(&turns_[0], turn, machine.warp() == 1);
            machine.barrier();
            // All of the first warp's are added, and no later block's.
            if (machine.warp() == 1) {
              EXPECT_EQ(
                  machine.load_global<float>(&sums_[static_cast<std::size_t>(machine.lane())]),
                  static_cast<float>(machine.block(0) + 1));
            }
            machine.barrier();
            machine.pass_turn(&turns_[0], turn + 1, machine.thread() == 40);
          },
          workers, seed);
      EXPECT_EQ(report.findings_total, 0u)
          << (report.findings.empty() ? "" : report.findings.front().message);
      EXPECT_EQ(turns_[0], static_cast<std::uint32_t>(kBlocks));
      EXPECT_EQ(sums_[63], static_cast<float>(kBlocks));
    }
  }
}

TEST_F(Turns, TellInALookWhetherTheyHaveCome) {
  turns_[1] = 7;
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    EXPECT_EQ(machine.look_for_turn(&turns_[1], 9), -2);
    EXPECT_EQ(machine.look_for_turn(&turns_[1], 6), 1);
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.global_loads, 4u);
}

TEST_F(Turns, AreFoundToBeMissedWhereNoEarlierBlockPassesThem) {
  for (const int workers : {1, 4}) {
    int line = 0;
    const auto report = run_blocks(
        3,
        [&](EmulatedMachine& machine) {
          if (machine.warp() != 0 || machine.block(0) == 0) return;
          line = __LINE__ + 1;
          machine.await_turn(&turns_[1], 1, machine.block(0) == 1);
        },
        workers);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedTurn);
    EXPECT_EQ(report.findings[0].line, line);
    EXPECT_EQ(report.findings[0].address, "global turns+0x4");
  }
}

TEST_F(Turns, HaveToBeAwaited) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    line = __LINE__ + 1;
    if (machine.thread() == 3) machine.add_global(sum_of(machine), 1.0f);
  });
  expect_finding(report, FindingKind::kGlobalRace, 3, line, __FILE__);
  EXPECT_EQ(report.findings[0].message, "atomic add outside the block's turn");
  EXPECT_EQ(report.findings[0].address, "global sums+0xc");
}

TEST_F(Turns, OfAnotherWordAreNotAwaited) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_turn(&turns_[1], 0, true);
    line = __LINE__ + 1;
    if (machine.thread() == 3) machine.add_global(sum_of(machine), 1.0f);
  });
  expect_finding(report, FindingKind::kGlobalRace, 3, line, __FILE__);
}

TEST_F(Turns, EndWhenTheyArePassed) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_turn(&turns_[0], 1, true);
    machine.barrier();
    machine.pass_turn(&turns_[0], 2, machine.thread() == 0);
    machine.barrier();
    line = __LINE__ + 1;
    if (machine.thread() == 63) machine.load_global<float>(sum_of(machine));
  });
  expect_finding(report, FindingKind::kGlobalRace, 63, line, __FILE__);
}

TEST_F(Turns, ArePassedBehindABarrier) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_turn(&turns_[0], 1, true);
    machine.add_global(sum_of(machine), 1.0f);
    machine.sync_warp();
    line = __LINE__ + 1;
    machine.pass_turn(&turns_[0], 2, machine.thread() == 32);
  });
  expect_finding(report, FindingKind::kGlobalRace, 32, line, __FILE__);
  EXPECT_LT(report.findings[0].other_thread, 32);
  EXPECT_NE(report.findings[0].message.find("without a barrier between"), std::string::npos);
}

TEST_F(Turns, AreOneWarpsForAnotherOnlyBehindABarrier) {
  for (const bool meets : {false, true}) {
    const auto report = run_second([&](EmulatedMachine& machine) {
      machine.await_turn(&turns_[0], 1, machine.warp() == 0);
      if (meets) machine.barrier();
      if (machine.warp() == 1) machine.add_global(sum_of(machine), 1.0f);
    });
    EXPECT_EQ(report.findings.empty(), meets);
  }
}

TEST_F(Turns, HaveToBeAcquiredForLoads) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    EXPECT_EQ(machine.look_for_turn(&turns_[0], 1), 0);
    machine.add_global(sum_of(machine), 1.0f);
    machine.sync_warp();
    line = __LINE__ + 1;
    if (machine.thread() == 5) machine.load_global<float>(sum_of(machine));
  });
  expect_finding(report, FindingKind::kGlobalRace, 5, line, __FILE__);
}

TEST_F(Turns, LeaveRacesWithinTheBlock) {
  int line = 0;
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_turn(&turns_[0], 1, true);
    if (machine.thread() == 3) machine.add_global(&sums_[9], 1.0f);
    line = __LINE__ + 1;
    if (machine.thread() == 40) machine.add_global(&sums_[9], 1.0f);
  });
  expect_finding(report, FindingKind::kGlobalRace, 40, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 3);
  EXPECT_EQ(report.findings[0].address, "global sums+0x24");
}

TEST_F(Turns, AreToldByTheirWordsAlone) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    const auto* const other = reinterpret_cast<const std::uint32_t*>(&sums_[0]);
    machine.await_turn(other, 0, machine.warp() == 0);
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kOutOfBounds);
}

}  // namespace
}  // namespace sparkbench
