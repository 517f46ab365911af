// Words that blocks publish for later blocks, and what a correct kernel does not do with them.
#include "kernels/machine/emulated/memory/published_words.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

/// Blocks of two warps, each of which publishes a word per thread.
class Published : public testing::Test {
 protected:
  static constexpr int kThreads = 64, kBlocks = 20;

  EmulationReport run_blocks(int blocks, const EmulatedKernel& kernel, int workers = 1,
                             std::uint64_t schedule_seed = 0) {
    words_.assign(words_.size(), {{kUnpublished, kUnpublished}});
    return run({.warps = 2,
                .grid = {blocks, 1, 1},
                .regions = regions_,
                .schedule_seed = schedule_seed,
                .workers = workers},
               kernel);
  }
  Bits64* word(int block, int thread) {
    return &words_[static_cast<std::size_t>(kThreads * block + thread)];
  }
  void publish_own(EmulatedMachine& machine) {
    const auto value = static_cast<std::uint32_t>(machine.thread());
    machine.publish(word(machine.block(0), machine.thread()), {{value, kUnpublished}});
  }
  /// Two of a block's, which the thread awaits.
  Bits64* own_pair(int block, EmulatedMachine& machine) {
    return word(block, 2 * (machine.thread() % (kThreads / 2)));
  }
  /// Runs `kernel` as the second of two blocks; the first publishes its own words.
  EmulationReport run_second(const EmulatedKernel& kernel) {
    return run_blocks(2, [&](EmulatedMachine& machine) {
      if (machine.block(0) == 1) return kernel(machine);
      publish_own(machine);
    });
  }

  std::vector<Bits64> words_ = std::vector<Bits64>(kBlocks * kThreads);
  std::vector<std::uint32_t> sums_ = std::vector<std::uint32_t>(kBlocks * kThreads);
  std::vector<GlobalRegion> regions_ = regions();

 private:
  // Ubuntu's GCC 13.3 crashes at one in a member's initializer: `writable` asks another member.
  std::vector<GlobalRegion> regions() {
    return {{.name = "words",
             .base = words_.data(),
             .bytes = words_.size() * sizeof(Bits64),
             .written_before = true,
             .writable = true,
             .is_published = true},
            {"sums", sums_.data(), sums_.size() * sizeof(std::uint32_t), false}};
  }
};

TEST_F(Published, ReachTheBlocksBehind) {
  for (const int workers : {1, 4}) {
    for (const std::uint64_t seed : {0u, 7u}) {
      const auto report = run_blocks(
          kBlocks,
          [&](EmulatedMachine& machine) {
            publish_own(machine);
            const int block = machine.block(0), thread = machine.thread();
            if (block > 0) {
              const Bits64* const pair = own_pair(block - 1, machine);
              machine.await_published(pair, !is_published(machine.look_for_published(pair)));
              machine.acquire_published();
            }
            machine.barrier();
            const int other = kThreads - 1 - thread;
            std::uint32_t sum = machine.load_published<Bits64>(word(block, other)).word[0];
            if (block > 0) sum += machine.load_published<Bits64>(word(block - 1, other)).word[0];
            machine.store_global(&sums_[static_cast<std::size_t>(kThreads * block + thread)], sum);
          },
          workers, seed);
      EXPECT_TRUE(report.findings.empty()) << report.findings.front().message;
      for (int i = 0; i < kBlocks * kThreads; ++i) {
        const int value = kThreads - 1 - i % kThreads;
        ASSERT_EQ(sums_[static_cast<std::size_t>(i)],
                  static_cast<std::uint32_t>(i < kThreads ? value : 2 * value));
      }
    }
  }
}

TEST_F(Published, AreLoadedTwoAtATime) {
  const auto report = run_second([&](EmulatedMachine& machine) {
    const Bits64* const pair = own_pair(0, machine);
    machine.await_published(pair, true);
    machine.acquire_published();
    const auto words = machine.load_published<Bits128>(pair);
    EXPECT_EQ(words.word[0] + 1, words.word[2]);
  });
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().message;
}

TEST_F(Published, AreNotLoadedBeforeTheyAreSeen) {
  const auto report = run_second(
      [&](EmulatedMachine& machine) { machine.load_published<Bits64>(word(0, machine.thread())); });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kUninitializedRead);
  EXPECT_EQ(report.findings[0].message,
            "load of a word that the block has not seen published and acquired");
  EXPECT_EQ(report.findings[0].address, "global words+0x0");
}

TEST_F(Published, AreNotLoadedBeforeTheyAreAcquired) {
  const auto report = run_second([&](EmulatedMachine& machine) {
    const Bits64* const pair = own_pair(0, machine);
    machine.await_published(pair, true);
    machine.load_published<Bits128>(pair);
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kUninitializedRead);
}

TEST_F(Published, NeedABarrierBehindAnotherThreadsLook) {
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_published(own_pair(0, machine), machine.warp() == 0);
    machine.acquire_published();
    machine.load_published<Bits64>(word(0, machine.thread()));
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
  EXPECT_GE(report.findings[0].other_thread, 0);
}

TEST_F(Published, NeedABarrierBehindAnotherThreadOfTheBlock) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    publish_own(machine);
    machine.sync_warp();
    machine.load_published<Bits64>(word(0, machine.thread() ^ 1));  // in order
    if (machine.warp() == 1) machine.load_published<Bits64>(word(0, machine.thread() ^ 32));
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
  EXPECT_LT(report.findings[0].other_thread, 32);
}

TEST_F(Published, AreNotStoredOtherwise) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    machine.store_global(word(0, machine.thread()), Bits64{{1, 2}});
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
  EXPECT_EQ(report.findings[0].message,
            "store of a word that blocks publish, which orders nothing");
}

TEST_F(Published, ArePublishedOnce) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    publish_own(machine);
    publish_own(machine);
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
  EXPECT_EQ(report.findings[0].message, "publishes a word that the block knows to be published");
}

TEST_F(Published, AreNotLoadedOtherwise) {
  const auto report = run_second([&](EmulatedMachine& machine) {
    machine.await_published(own_pair(0, machine), true);
    machine.acquire_published();
    machine.barrier();
    machine.load_global<Bits64>(word(0, machine.thread()));
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
}

TEST_F(Published, AreEachPublishedByOneBlock) {
  const auto report = run_blocks(2, [&](EmulatedMachine& machine) {
    machine.publish(word(0, machine.thread()), {{1, 2}});
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kGlobalRace);
}

TEST_F(Published, AreNotAwaitedOfBlocksBehind) {
  const auto report = run_blocks(2, [&](EmulatedMachine& machine) {
    if (machine.block(0) == 0) machine.await_published(own_pair(1, machine), true);
    publish_own(machine);
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedTurn);
  EXPECT_EQ(report.findings[0].message, "two words, of which no earlier block publishes one");
}

TEST_F(Published, HaveNoValueThatTellsOfNone) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    machine.publish(word(0, machine.thread()), {{kUnpublished, kUnpublished}});
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kMissedTurn);
}

TEST_F(Published, MayBeWrittenBeforeTheLaunch) {
  std::vector<Bits64> before(kThreads, {{3, 4}});
  const std::vector<GlobalRegion> regions = {
      {"words", before.data(), before.size() * sizeof(Bits64), true, true}};
  const auto report = run({.warps = 2, .regions = regions}, [&](EmulatedMachine& machine) {
    const auto word =
        machine.load_published<Bits64>(&before[static_cast<std::size_t>(machine.thread())]);
    EXPECT_EQ(word.word[1], 4u);
  });
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().message;
}

TEST_F(Published, AreLoadedWithinTheirRegion) {
  const auto report = run_blocks(1, [&](EmulatedMachine& machine) {
    machine.look_for_published(words_.data() + words_.size());
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].kind, FindingKind::kOutOfBounds);
}

}  // namespace
}  // namespace sparkbench
