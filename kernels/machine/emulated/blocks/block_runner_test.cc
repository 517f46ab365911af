// Collectives that not every thread comes to.
#include "kernels/machine/emulated/blocks/block_runner.h"

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

using Operands = OperandFragment[2][1];

TEST(Divergence, IsFoundWhenLanesShuffleAtDifferentStatements) {
  int line = 0;
  const auto report = run({.grid = {2, 1, 1}}, [&](EmulatedMachine& machine) {
    if (machine.block(0) == 0) return;
    if (machine.lane() < 20) {
      line = __LINE__ + 1;
      machine.shuffle_xor(1, 1);
    } else {
      machine.shuffle_xor(1, 1);
    }
  });
  expect_finding(report, FindingKind::kDivergence, 0, line, __FILE__);
  EXPECT_EQ(report.findings[0].block, (std::array<int, 3>{1, 0, 0}));
  EXPECT_EQ(report.findings[0].other_thread, 20);
}

TEST(Divergence, IsFoundWhenAThreadMissesAnMma) {
  int line = 0;
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    if (machine.thread() == 37) return;
    AccumulatorFragment<Accumulator::kFp32> c{};
    const Operands a{}, b{};
    line = __LINE__ + 1;
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&c}, a, b);
  });
  expect_finding(report, FindingKind::kDivergence, 32, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 37);
}

TEST(Divergence, IsFoundWhenTemplateArgumentsDiffer) {
  const auto multiply = [](EmulatedMachine& machine, const auto& operands, CallSite site) {
    AccumulatorFragment<Accumulator::kFp32> c{};
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&c}, operands, operands,
                                                                       site);
  };
  const auto site = CallSite::current();
  const auto report = run({}, [&](EmulatedMachine& machine) {
    const OperandFragment one[1][1] = {}, two[2][1] = {};
    if (machine.lane() == 0) {
      multiply(machine, one, site);
    } else {
      multiply(machine, two, site);
    }
  });
  expect_finding(report, FindingKind::kDivergence, 0, static_cast<int>(site.line()), __FILE__);
}

TEST(Divergence, IsFoundBetweenABarrierAndAShuffle) {
  const auto report = run({}, [](EmulatedMachine& machine) {
    if (machine.lane() == 9) machine.barrier();
    machine.shuffle_xor(1, 1);
    if (machine.lane() != 9) machine.barrier();
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDivergence);
  EXPECT_EQ(report.findings[0].other_thread, 9);
}

TEST(MissedBarrier, IsFoundWhenAWarpHasEnded) {
  int line = 0;
  const auto report = run({.warps = 3, .grid = {1, 2, 1}}, [&](EmulatedMachine& machine) {
    if (machine.warp() == 1 && machine.block(1) == 1) return;
    line = __LINE__ + 1;
    machine.barrier();
  });
  expect_finding(report, FindingKind::kMissedBarrier, 0, line, __FILE__);
  EXPECT_EQ(report.findings[0].block, (std::array<int, 3>{0, 1, 0}));
  EXPECT_NE(report.findings[0].message.find("threads 32-63"), std::string::npos);
}

TEST(MissedBarrier, IsFoundWhenTheLastWarpEnds) {
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    machine.barrier();
    if (machine.warp() == 0) machine.barrier();
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedBarrier);
  EXPECT_EQ(report.findings[0].other_thread, 32);
}

TEST(MissedBarrier, IsFoundWhenThreadsOfAWarpEnd) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    if (machine.lane() >= 30) return;
    line = __LINE__ + 1;
    machine.barrier();
  });
  expect_finding(report, FindingKind::kMissedBarrier, 0, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 30);
}

TEST(BlockRunner, UnwindsAnAbandonedBlockAndRunsTheNext) {
  int alive = 0;
  int completed = 0;
  struct Counted {
    explicit Counted(int& count) : count_(++count) {}
    ~Counted() { --count_; }
    int& count_;
  };
  const auto report = run({.warps = 4, .grid = {5, 1, 1}}, [&](EmulatedMachine& machine) {
    const Counted counted(alive);
    machine.barrier();
    if (machine.block(0) == 2 && machine.warp() == 3) return;
    machine.barrier();
    ++completed;
  });
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(completed, 4 * 128);
  EXPECT_EQ(report.findings_total, 1u);
}

TEST(MissedBarrier, IsFoundWhenAWarpLeavesItsTeam) {
  const auto report = run({.warps = 4}, [&](EmulatedMachine& machine) {
    if (machine.warp() == 3) return;
    machine.team_barrier<2>();
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedBarrier);
  EXPECT_EQ(report.findings[0].thread, 64);
  EXPECT_EQ(report.findings[0].other_thread, 96);
}

TEST(MissedBarrier, IsFoundWhenTeamSizesDiffer) {
  const auto report = run({.warps = 4}, [&](EmulatedMachine& machine) {
    if (machine.warp() == 0) {
      machine.team_barrier<4>();
    } else {
      machine.team_barrier<2>();
    }
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedBarrier);
}

TEST(BlockRunner, LetsATeamGoOnWhileAnotherWaits) {
  const auto report = run({.warps = 4}, [](EmulatedMachine& machine) {
    if (machine.warp() < 2) {
      machine.team_barrier<2>();
      machine.team_barrier<2>();
    }
    machine.barrier();
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.barriers, 3u);
}

TEST(BlockRunner, FindsWarpsAtDifferentBarriers) {
  int line = 0;
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    if (machine.warp() == 0) {
      line = __LINE__ + 1;
      machine.barrier();
    } else {
      machine.barrier();
    }
  });
  expect_finding(report, FindingKind::kDivergence, 0, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 32);
}

TEST(BlockRunner, FindsBarriersOfTwoKindsThatMeet) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    if (machine.warp() == 0) {
      machine.barrier_of_warps();
    } else {
      machine.barrier();
    }
  });
  ASSERT_EQ(report.findings_total, 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDivergence);
}

TEST(BlockRunner, LetsWarpsMeetFromDifferentPlaces) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    if (machine.warp() == 0) {
      machine.barrier_of_warps();
    } else {
      machine.sync_warp();
      machine.barrier_of_warps();
    }
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.barriers, 1u);
}

}  // namespace
}  // namespace sparkbench
