// Accesses of memory that a correct kernel does not make.
#include "kernels/machine/emulated/memory/block_memory.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

struct Words {
  std::uint32_t word[1024];  // as large as the 4096 bytes of the launch
};

/// One input "q" and one output "o" of 64 floats, each followed by a guard zone.
class GlobalAccessTest : public testing::Test {
 protected:
  static constexpr std::size_t kFloats = 64;
  static constexpr std::size_t kBytes = kFloats * sizeof(float);

  std::vector<float> q_ = std::vector<float>(2 * kFloats, 1.0f);
  std::vector<float> o_ = std::vector<float>(2 * kFloats, -1.0f);
  std::vector<GlobalRegion> regions_ = regions();

 private:
  // Ubuntu's GCC 13.3 crashes at one in a member's initializer: `writable` asks another member.
  std::vector<GlobalRegion> regions() {
    return {{"q", q_.data(), kBytes, true}, {"o", o_.data(), kBytes, false}};
  }
};

TEST(SharedRace, IsFoundWhenAWarpReadsAnothersWord) {
  int line = 0;
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    if (machine.warp() == 0) {
      machine.store_shared(&words.word[machine.lane()], 1u);
    } else {
      line = __LINE__ + 1;
      machine.load_shared<std::uint32_t>(&words.word[machine.lane()]);
    }
    machine.barrier();
  });
  expect_finding(report, FindingKind::kSharedRace, 32, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 0);
  EXPECT_EQ(report.findings[0].address, "shared+0x0");
}

TEST(SharedRace, IsFoundWhenTwoThreadsWriteOneWord) {
  int line = 0;
  const auto report = run({.grid = {1, 1, 2}}, [&](EmulatedMachine& machine) {
    if (machine.block(2) == 0) return;
    auto& words = machine.shared<Words>();
    line = __LINE__ + 1;
    machine.store_shared(&words.word[104 + machine.lane() / 2], 1u);
  });
  expect_finding(report, FindingKind::kSharedRace, 1, line, __FILE__);
  EXPECT_EQ(report.findings[0].other_thread, 0);
  EXPECT_EQ(report.findings[0].address, "shared+0x1a0");
  EXPECT_EQ(report.findings[0].block, (std::array<int, 3>{0, 0, 1}));
  EXPECT_EQ(report.findings_total, 16u);
}

TEST(SharedRace, IsFoundWhenATileIsOverwrittenEarly) {
  int line = 0;
  const auto report = run({.warps = 2}, [&](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    machine.store_shared(&words.word[machine.thread()], 1u);
    machine.barrier();
    machine.load_shared<std::uint32_t>(&words.word[machine.thread() ^ 1]);
    line = __LINE__ + 1;
    machine.store_shared(&words.word[machine.thread()], 2u);
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.back().kind, FindingKind::kSharedRace);
  EXPECT_EQ(report.findings.back().line, line);
}

TEST(SharedRace, IsRuledOutByABarrier) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    for (std::uint32_t i = 0; i < 3; ++i) {
      machine.store_shared(&words.word[machine.thread()], i);
      machine.barrier();
      EXPECT_EQ(machine.load_shared<std::uint32_t>(&words.word[machine.thread() ^ 33]), i);
      machine.barrier();
    }
  });
  EXPECT_EQ(report.findings_total, 0u);
}

TEST(SharedRace, IsRuledOutWithinAWarpBySync) {
  const auto report = run({.warps = 2}, [](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    machine.store_shared(&words.word[machine.thread()], 1u);
    machine.sync_warp();
    machine.load_shared<std::uint32_t>(&words.word[machine.thread() ^ 1]);
  });
  EXPECT_EQ(report.findings_total, 0u);
}

TEST(SharedRace, IsNotRuledOutByAShuffle) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    machine.store_shared(&words.word[machine.thread()], 1u);
    machine.shuffle_xor(1, 1);
    line = __LINE__ + 1;
    machine.load_shared<std::uint32_t>(&words.word[machine.thread() ^ 1]);
  });
  expect_finding(report, FindingKind::kSharedRace, 0, line, __FILE__);
}

TEST(SharedMemory, GivesNanAndAFindingUntilWritten) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    if (machine.thread() != 6) return;
    line = __LINE__ + 1;
    EXPECT_EQ(machine.load_shared<std::uint32_t>(&words.word[9]), 0xffffffffu);
  });
  expect_finding(report, FindingKind::kUninitializedRead, 6, line, __FILE__);
  EXPECT_EQ(report.findings[0].address, "shared+0x24");
}

TEST(SharedMemory, IsForgottenFromBlockToBlock) {
  const auto report = run({.grid = {2, 1, 1}}, [](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    if (machine.block(0) == 0) {
      machine.store_shared(&words.word[machine.thread()], 5u);
    } else {
      EXPECT_EQ(machine.load_shared<std::uint32_t>(&words.word[machine.thread()]), 0xffffffffu);
    }
  });
  EXPECT_EQ(report.findings_total, 32u);
}

TEST(SharedMemory, EndsWhereTheLaunchSays) {
  int load_line = 0, store_line = 0;
  const auto report = run({.shared_bytes = 4092}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 3) return;
    auto& words = machine.shared<Words>();
    machine.store_shared(&words.word[1022], 1u);
    load_line = __LINE__ + 1;
    EXPECT_EQ(machine.load_shared<Bits64>(&words.word[1022]).word[0], 0xffffffffu);
    store_line = __LINE__ + 1;
    machine.store_shared(&words.word[1023], 1u);
  });
  ASSERT_EQ(report.findings.size(), 2u);
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.kind, FindingKind::kOutOfBounds);
    EXPECT_EQ(finding.thread, 3);
    EXPECT_EQ(finding.line, finding.address == "shared+0xff8" ? load_line : store_line);
  }
}

TEST(SharedMemory, DoesNotMoveMisalignedVectors) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 31) return;
    auto& words = machine.shared<Words>();
    line = __LINE__ + 1;
    machine.store_shared(&words.word[2], Bits128{});
  });
  expect_finding(report, FindingKind::kMisaligned, 31, line, __FILE__);
}

TEST_F(GlobalAccessTest, LoadsBeyondARegionGivePoison) {
  int line = 0;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 1) return;
    line = __LINE__ + 1;
    const auto bits = machine.load_global<std::uint32_t>(&q_[kFloats]);
    EXPECT_EQ(bits, 0xffffffffu);
  });
  expect_finding(report, FindingKind::kOutOfBounds, 1, line, __FILE__);
  EXPECT_EQ(report.findings[0].address, "global q+0x100");
}

TEST_F(GlobalAccessTest, StoresBeyondARegionAreDroppedAndFound) {
  int line = 0;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 1) return;
    line = __LINE__ + 1;
    machine.store_global(&o_[kFloats], 7.0f);
    machine.add_global(&o_[kFloats + 1], 7.0f);
  });
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kOutOfBounds);
  EXPECT_EQ(report.findings[0].line, line);
  EXPECT_EQ(report.findings[1].line, line + 1);
  EXPECT_EQ(o_[kFloats], -1.0f);
  EXPECT_EQ(o_[kFloats + 1], -1.0f);
}

TEST_F(GlobalAccessTest, LoadsOfWhatNothingHasWrittenAreFound) {
  int line = 0;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 2) return;
    machine.store_global(&o_[4], 1.0f);
    machine.load_global<float>(&o_[4]);
    line = __LINE__ + 1;
    machine.load_global<float>(&o_[5]);
  });
  expect_finding(report, FindingKind::kUninitializedRead, 2, line, __FILE__);
}

TEST_F(GlobalAccessTest, MisalignedLoadsAreFound) {
  int line = 0;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 0) return;
    line = __LINE__ + 1;
    machine.load_global<std::uint32_t>(reinterpret_cast<const char*>(q_.data()) + 2);
  });
  expect_finding(report, FindingKind::kMisaligned, 0, line, __FILE__);
}

TEST_F(GlobalAccessTest, StoresToAnInputAreDroppedAndFound) {
  int line = 0;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    line = __LINE__ + 1;
    machine.store_global(&q_[machine.thread()], 3.0f);
  });
  expect_finding(report, FindingKind::kReadOnlyWrite, 0, line, __FILE__);
  EXPECT_EQ(report.findings_total, 32u);
  EXPECT_EQ(q_[0], 1.0f);
}

TEST_F(GlobalAccessTest, StoresOfTwoBlocksToOneAddressRace) {
  int line = 0;
  const auto report = run({.grid = {2, 1, 1}, .regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 4 + machine.block(0)) return;
    line = __LINE__ + 1;
    machine.store_global(&o_[8], 1.0f);
  });
  expect_finding(report, FindingKind::kGlobalRace, 5, line, __FILE__);
  EXPECT_EQ(report.findings[0].block, (std::array<int, 3>{1, 0, 0}));
  EXPECT_EQ(report.findings[0].other_thread, 4);
  EXPECT_EQ(report.findings[0].address, "global o+0x20");
}

TEST_F(GlobalAccessTest, AtomicAddsNeitherRaceNorLoseAnything) {
  std::fill(o_.begin(), o_.end(), 0.0f);
  regions_[1].written_before = true;
  const auto report = run({.grid = {50, 1, 1}, .regions = regions_, .workers = 4},
                          [&](EmulatedMachine& machine) { machine.add_global(&o_[3], 1.0f); });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(o_[3], 1600.0f);
}

TEST_F(GlobalAccessTest, AtomicAddsOfFourAddEachToItsOwn) {
  std::fill(o_.begin(), o_.end(), 1.0f);
  regions_[1].written_before = true;
  const auto report =
      run({.grid = {3, 1, 1}, .regions = regions_, .workers = 2}, [&](EmulatedMachine& machine) {
        if (machine.thread() < 2) machine.add_global(&o_[4], {1.0f, 10.0f, 100.0f, 0x1p-127f});
      });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(std::vector<float>(o_.begin() + 3, o_.begin() + 9),
            (std::vector<float>{1.0f, 7.0f, 61.0f, 601.0f, 1.0f, 1.0f}));
}

TEST_F(GlobalAccessTest, AtomicAddsOfFourAreAlignedToTheirSize) {
  regions_[1].written_before = true;
  const auto report = run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() == 0) machine.add_global(&o_[2], {1.0f, 2.0f, 3.0f, 4.0f});
  });
  ASSERT_EQ(report.findings_total, 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMisaligned);
}

TEST_F(GlobalAccessTest, AtomicAddsFlushSubnormalNumbers) {
  o_[0] = 0x1p-127f;
  o_[1] = 0x1p-126f;
  regions_[1].written_before = true;
  run({.regions = regions_}, [&](EmulatedMachine& machine) {
    if (machine.thread() != 0) return;
    machine.add_global(&o_[0], 0x1p-127f);
    machine.add_global(&o_[1], -0x1.8p-126f);
  });
  EXPECT_EQ(o_[0], 0.0f);
  EXPECT_EQ(o_[1], 0.0f);
  EXPECT_TRUE(std::signbit(o_[1]));
}

/// Sixteen bytes per thread, of q and of shared memory.
class AsyncCopyTest : public GlobalAccessTest {
 protected:
  AsyncCopyTest() { std::iota(q_.begin(), q_.end(), 0.0f); }

  const float* source(EmulatedMachine& machine) const { return &q_[4 * machine.thread()]; }
  static float* target(EmulatedMachine& machine) {
    return &machine.shared<float>() + 4 * machine.thread();
  }
  EmulationReport run_16_threads(const EmulatedKernel& kernel) {
    return run({.regions = regions_}, [&](EmulatedMachine& machine) {
      if (machine.thread() < 16) kernel(machine);
    });
  }
};

TEST_F(AsyncCopyTest, ArrivesWhenItsGroupHasBeenWaitedFor) {
  const auto report = run_16_threads([&](EmulatedMachine& machine) {
    machine.copy_async(target(machine), source(machine), true);
    machine.commit_copies();
    machine.copy_async(target(machine) + 64, nullptr, false);
    machine.commit_copies();
    machine.wait_for_copies<1>();
    EXPECT_EQ(machine.load_shared<float>(target(machine) + 1),
              4.0f * static_cast<float>(machine.thread()) + 1.0f);
    machine.wait_for_copies<0>();
    EXPECT_EQ(machine.load_shared<float>(target(machine) + 64), 0.0f);
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.global_loads, 1u);
  EXPECT_EQ(report.counters.global_sectors_read, 8u);
  EXPECT_EQ(report.counters.shared_stores, 2u);
}

TEST_F(AsyncCopyTest, IsFoundWhereItIsReadEarly) {
  int line = 0;
  const auto report = run_16_threads([&](EmulatedMachine& machine) {
    machine.store_shared(target(machine), Bits128{});
    machine.copy_async(target(machine), source(machine), true);
    machine.commit_copies();
    machine.copy_async(target(machine) + 64, source(machine), true);
    machine.commit_copies();
    machine.wait_for_copies<1>();
    machine.load_shared<float>(target(machine));
    line = __LINE__ + 1;
    EXPECT_TRUE(std::isnan(machine.load_shared<float>(target(machine) + 64)));
  });
  expect_finding(report, FindingKind::kUninitializedRead, 0, line, __FILE__);
  EXPECT_NE(report.findings[0].message.find("not been waited for"), std::string::npos);
}

TEST_F(AsyncCopyTest, DoesNotArriveUnlessCommitted) {
  const auto report = run_16_threads([&](EmulatedMachine& machine) {
    machine.copy_async(target(machine), source(machine), true);
    machine.wait_for_copies<0>();
    machine.load_shared<float>(target(machine));
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kUninitializedRead);
}

TEST_F(AsyncCopyTest, RacesWithReadersLikeAStore) {
  int line = 0;
  const auto report = run_16_threads([&](EmulatedMachine& machine) {
    machine.store_shared(target(machine), Bits128{});
    if (machine.thread() == 0) machine.load_shared<float>(target(machine));
    line = __LINE__ + 1;
    if (machine.thread() == 1) machine.copy_async(target(machine) - 4, source(machine), true);
  });
  expect_finding(report, FindingKind::kSharedRace, 1, line, __FILE__);
}

TEST_F(AsyncCopyTest, KeepsTheBoundsOfBothMemories) {
  const auto report = run_16_threads([&](EmulatedMachine& machine) {
    if (machine.thread() != 5) return;
    machine.copy_async(target(machine), &q_[kFloats], true);
    machine.copy_async(&machine.shared<float>() + 1024, source(machine), true);
    machine.copy_async(target(machine) + 1, source(machine), true);
  });
  EXPECT_EQ(report.findings_total, 3u);
}

TEST_F(GlobalAccessTest, WithoutDetectionBoundsAreStillKept) {
  const auto report = run({.regions = regions_, .detect = false}, [&](EmulatedMachine& machine) {
    auto& words = machine.shared<Words>();
    machine.load_shared<std::uint32_t>(&words.word[0]);
    machine.store_global(&o_[8], 1.0f);
    machine.store_global(&o_[kFloats], 7.0f);
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kOutOfBounds);
  EXPECT_EQ(o_[kFloats], -1.0f);
}

}  // namespace
}  // namespace sparkbench
