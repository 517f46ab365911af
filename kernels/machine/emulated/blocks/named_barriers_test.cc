// A ring of two stages: a producer warp fills them, two consumer warps empty them.
#include "kernels/machine/emulated/blocks/named_barriers.h"

#include <array>
#include <stdexcept>
#include <string>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr int kStages = 2, kSteps = 7, kRingWarps = 3;
constexpr int kFull = 1, kEmpty = 3;  // the first of kStages barriers

struct Ring {
  std::uint32_t word[kStages][kWarpLanes];
};

/// The synchronization that is omitted, to see whether the emulator finds it.
enum class Defect { kNone, kProducerDoesNotWait, kConsumersDoNotArrive, kProducerDoesNotArrive };

void produce(EmulatedMachine& machine, Ring& ring, Defect defect) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages;
    if (step >= kStages && defect != Defect::kProducerDoesNotWait) {
      machine.wait_at_barrier(kEmpty + stage, kRingWarps);
    }
    machine.store_shared(&ring.word[stage][machine.lane()],
                         static_cast<std::uint32_t>(100 * step + machine.lane()));
    if (defect == Defect::kProducerDoesNotArrive && step == kSteps - 1) return;
    machine.arrive_at_barrier(kFull + stage, kRingWarps);
  }
}

void consume(EmulatedMachine& machine, const Ring& ring, Defect defect, bool& is_right) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages;
    machine.wait_at_barrier(kFull + stage, kRingWarps);
    const int other = machine.lane() ^ 5;
    const auto word = machine.load_shared<std::uint32_t>(&ring.word[stage][other]);
    is_right = is_right && word == static_cast<std::uint32_t>(100 * step + other);
    if (defect != Defect::kConsumersDoNotArrive && step + kStages < kSteps) {
      machine.arrive_at_barrier(kEmpty + stage, kRingWarps);
    }
  }
}

struct RingResult {
  EmulationReport report;
  bool is_right = true;
};

RingResult run_ring(std::uint64_t seed, Defect defect) {
  RingResult result;
  result.report = run({.warps = kRingWarps, .schedule_seed = seed}, [&](EmulatedMachine& machine) {
    auto& ring = machine.shared<Ring>();
    if (machine.warp() == 0) {
      produce(machine, ring, defect);
    } else {
      consume(machine, ring, defect, result.is_right);
    }
  });
  return result;
}

TEST(NamedBarriers, OrderARingUnderEverySchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RingResult result = run_ring(seed, Defect::kNone);
    EXPECT_TRUE(result.is_right) << seed;
    EXPECT_EQ(result.report.findings_total, 0u) << seed;
    EXPECT_EQ(result.report.counters.barriers, 2u * kSteps - kStages);
  }
}

TEST(NamedBarriers, LetAWarpThatArrivesGoOn) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    if (machine.warp() == 0) {
      for (int id = 1; id < kBarriers; ++id) machine.arrive_at_barrier(id, 2);
    } else {
      for (int id = kBarriers - 1; id > 0; --id) machine.wait_at_barrier(id, 2);
    }
    machine.barrier_of_warps();
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.barriers, 16u);
}

TEST(NamedBarriers, FindARefillWithoutWaiting) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const RingResult result = run_ring(seed, Defect::kProducerDoesNotWait);
    ASSERT_FALSE(result.report.findings.empty()) << seed;
    const FindingKind kind = result.report.findings[0].kind;
    // A producer that is two stages ahead comes to a barrier twice.
    EXPECT_TRUE(kind == FindingKind::kSharedRace || kind == FindingKind::kDivergence) << seed;
  }
}

TEST(NamedBarriers, FindConsumersThatDoNotArrive) {
  const auto report = run_ring(0, Defect::kConsumersDoNotArrive).report;
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedBarrier);
  EXPECT_EQ(report.findings[0].thread, 32);
  EXPECT_NE(report.findings[0].message.find("3 warps of barrier 1, 2 have come"), std::string::npos)
      << report.findings[0].message;
}

TEST(NamedBarriers, FindAProducerThatEndsWithoutArriving) {
  const auto report = run_ring(3, Defect::kProducerDoesNotArrive).report;
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedBarrier);
}

TEST(NamedBarriers, TeachAWarpThatOnlyArrivesNothing) {
  int line = 0;
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    auto& ring = machine.shared<Ring>();
    if (machine.warp() == 0) {
      machine.arrive_at_barrier(1, 2);
      machine.sync_warp();
      line = __LINE__ + 1;
      machine.store_shared(&ring.word[0][machine.lane()], 1u);
    } else {
      machine.store_shared(&ring.word[0][machine.lane()], 2u);
      machine.wait_at_barrier(1, 2);
    }
    machine.barrier_of_warps();
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kSharedRace);
}

TEST(NamedBarriers, FindWarpsThatExpectDifferentNumbers) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    machine.wait_at_barrier(1, 2 + machine.warp());
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDivergence);
  EXPECT_EQ(report.findings[0].thread, 32);
}

TEST(NamedBarriers, FindLanesThatComeToDifferentOnes) {
  const auto report = run(
      {}, [](EmulatedMachine& machine) { machine.wait_at_barrier(machine.lane() < 9 ? 1 : 2, 1); });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kDivergence);
  EXPECT_EQ(report.findings[0].other_thread, 9);
}

TEST(NamedBarriers, RefuseNumbersThatNoneHas) {
  for (const auto& [id, warps] : {std::array{0, 1}, {16, 1}, {1, 0}, {1, 33}}) {
    EXPECT_THROW(barrier_arguments(id, warps), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sparkbench
