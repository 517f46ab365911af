#include "kernels/machine/emulated/memory/shared_shadow.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/blocks/warp_schedule.h"

namespace sparkbench {
namespace {

/// Two warps that touch word 0.
class SharedShadowTest : public testing::Test {
 protected:
  SharedShadowTest() { shadow_.begin_block(); }

  MemoryAccess access(AccessKind kind, int thread) const {
    return {kind, 4, nullptr, thread, site_};
  }
  auto read(int thread) { return shadow_.read(0, access(AccessKind::kLoadShared, thread)); }
  auto write(int thread) { return shadow_.write(0, access(AccessKind::kStoreShared, thread)); }

  void expect_race(const std::optional<SharedShadow::Hazard>& hazard, int other_thread) {
    ASSERT_TRUE(hazard.has_value());
    EXPECT_EQ(hazard->kind, FindingKind::kSharedRace);
    EXPECT_EQ(hazard->other_thread, other_thread);
  }

  CallSite site_ = CallSite::current();
  SharedShadow shadow_{64, 2};
};

TEST_F(SharedShadowTest, AThreadDoesNotRaceWithItself) {
  EXPECT_FALSE(write(3));
  EXPECT_FALSE(read(3));
  EXPECT_FALSE(write(3));
}

TEST_F(SharedShadowTest, ReadersDoNotRaceWithEachOther) {
  write(0);
  shadow_.barrier();
  for (const int thread : {1, 40, 2, 41}) EXPECT_FALSE(read(thread));
}

TEST_F(SharedShadowTest, EveryOtherReaderRacesWithAWriter) {
  write(0);
  shadow_.barrier();
  read(1);
  read(40);
  read(2);
  expect_race(write(2), 40);
}

TEST_F(SharedShadowTest, ASyncWarpOrdersItsWarpsReadersOnly) {
  write(0);
  shadow_.barrier();
  read(33);
  read(1);
  shadow_.sync_warp(0);
  read(2);
  expect_race(write(2), 33);
}

TEST_F(SharedShadowTest, ASyncWarpOrdersItsWarpsAccesses) {
  write(0);
  expect_race(read(1), 0);
  shadow_.sync_warp(1);
  expect_race(read(1), 0);
  shadow_.sync_warp(0);
  EXPECT_FALSE(read(1));
}

TEST_F(SharedShadowTest, ABarrierOrdersEverything) {
  write(0);
  shadow_.barrier();
  EXPECT_FALSE(read(40));
  shadow_.barrier();
  EXPECT_FALSE(write(2));
}

TEST_F(SharedShadowTest, ABarrierOfSomeWarpsOrdersNoOthers) {
  write(0);
  shadow_.barrier(1, 2);
  expect_race(read(40), 0);
}

TEST_F(SharedShadowTest, BarriersLeadFromWarpToWarp) {
  SharedShadow shadow(64, 3);
  shadow.begin_block();
  const auto touch = [&](AccessKind kind, int thread) { return access(kind, thread); };
  shadow.write(0, touch(AccessKind::kStoreShared, 0));
  shadow.barrier(0, 2);
  EXPECT_FALSE(shadow.read(0, touch(AccessKind::kLoadShared, 40)));
  expect_race(shadow.read(0, touch(AccessKind::kLoadShared, 70)), 0);
  shadow.barrier(1, 3);
  EXPECT_FALSE(shadow.read(0, touch(AccessKind::kLoadShared, 70)));
}

TEST_F(SharedShadowTest, ANewBlockForgetsWritersAndReaders) {
  write(0);
  read(0);
  shadow_.begin_block();
  const auto hazard = read(40);
  ASSERT_TRUE(hazard.has_value());
  EXPECT_EQ(hazard->kind, FindingKind::kUninitializedRead);
  shadow_.begin_block();
  EXPECT_FALSE(write(1));
}

TEST_F(SharedShadowTest, AWideAccessNamesItsFirstRacingWord) {
  shadow_.write(8, access(AccessKind::kStoreShared, 0));
  const auto hazard = shadow_.write(0, {AccessKind::kStoreShared, 16, nullptr, 1, site_});
  expect_race(hazard, 0);
  EXPECT_EQ(hazard->offset, 8u);
}

/// Asks one shadow about accesses, and another about each of their words by itself.
class TwoShadows {
 public:
  TwoShadows() {
    for (SharedShadow* shadow : {&at_once_, &by_word_}) shadow->begin_block();
  }

  template <class Tick>
  void tick(Tick tick) {
    for (SharedShadow* shadow : {&at_once_, &by_word_}) tick(*shadow);
  }
  /// Returns whether there is a hazard.
  bool expect_the_same(std::size_t offset, const MemoryAccess& access) {
    const auto hazard = touch(at_once_, offset, access);
    std::optional<SharedShadow::Hazard> of_words;
    for (std::size_t at = offset; at < offset + access.bytes; at += 4) {
      const auto of_word = touch(by_word_, at, {access.kind, 4, nullptr, access.thread, {}});
      if (!of_words) of_words = of_word;
    }
    EXPECT_EQ(hazard.has_value(), of_words.has_value());
    if (!hazard || !of_words) return false;
    EXPECT_EQ(hazard->kind, of_words->kind);
    EXPECT_EQ(hazard->offset, of_words->offset);
    EXPECT_EQ(hazard->other_thread, of_words->other_thread);
    EXPECT_EQ(hazard->other_writes, of_words->other_writes);
    return true;
  }

 private:
  static std::optional<SharedShadow::Hazard> touch(SharedShadow& shadow, std::size_t offset,
                                                   const MemoryAccess& access) {
    return access.writes() ? shadow.write(offset, access) : shadow.read(offset, access);
  }

  SharedShadow at_once_{64, 2}, by_word_{64, 2};
};

TEST(SharedShadowLines, TellWhatTheirWordsTell) {
  TwoShadows shadows;
  SplitMix64 random(1);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  int hazards = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto warp = static_cast<int>(below(2));
    switch (below(64)) {
      case 0:
        shadows.tick([](SharedShadow& shadow) { shadow.begin_block(); });
        break;
      case 1:
      case 2:
      case 3:
        shadows.tick([](SharedShadow& shadow) { shadow.barrier(); });
        break;
      case 4:
      case 5:
        shadows.tick([&](SharedShadow& shadow) { shadow.sync_warp(warp); });
        break;
      default: {
        const auto bytes = static_cast<std::uint32_t>(below(8) != 0 ? 16 : 4 << below(2));
        const auto kind = below(4) == 0 ? AccessKind::kStoreShared : AccessKind::kLoadShared;
        const auto thread = 32 * warp + static_cast<int>(below(3));
        hazards +=
            shadows.expect_the_same(bytes * below(64 / bytes), {kind, bytes, nullptr, thread, {}});
      }
    }
  }
  EXPECT_GT(hazards, 1000);
  EXPECT_LT(hazards, 90000);
}

}  // namespace
}  // namespace sparkbench
