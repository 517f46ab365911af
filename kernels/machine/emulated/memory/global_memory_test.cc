#include "kernels/machine/emulated/memory/global_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace sparkbench {
namespace {

constexpr int kThreads = 32;

class GlobalMemoryTest : public testing::Test {
 protected:
  MemoryAccess access(AccessKind kind, const void* address, int thread = 0) const {
    return {kind, 4, address, thread, CallSite::current()};
  }
  auto check(AccessKind kind, const void* address, int thread, std::uint32_t block) {
    const MemoryAccess made = access(kind, address, thread);
    return memory_.check(*memory_.find(made), made, block);
  }
  auto store(int thread, std::uint32_t block) {
    return check(AccessKind::kStoreGlobal, output_.data(), thread, block);
  }
  auto load(int thread, std::uint32_t block) {
    return check(AccessKind::kLoadGlobal, output_.data(), thread, block);
  }
  auto add(int thread, std::uint32_t block) {
    return check(AccessKind::kAddGlobal, output_.data(), thread, block);
  }

  std::array<float, 8> input_{};
  std::array<float, 8> output_{};
  std::array<GlobalRegion, 2> regions_ = regions();
  GlobalMemory memory_{regions_, kThreads, true};

 private:
  // Ubuntu's GCC 13.3 crashes at one in a member's initializer: `writable` asks another member.
  std::array<GlobalRegion, 2> regions() {
    return {{{"q", input_.data(), 32, true}, {"o", output_.data(), 32, false}}};
  }
};

TEST_F(GlobalMemoryTest, FindsTheRegionThatHoldsAWholeAccess) {
  EXPECT_EQ(memory_.find(access(AccessKind::kLoadGlobal, &input_[7]))->name(), "q");
  MemoryAccess wide = access(AccessKind::kLoadGlobal, &input_[7]);
  wide.bytes = 8;
  EXPECT_EQ(memory_.find(wide), nullptr);
  EXPECT_EQ(memory_.find(access(AccessKind::kLoadGlobal, nullptr)), nullptr);
}

TEST_F(GlobalMemoryTest, DescribesAnAddressByTheRegionBeforeIt) {
  EXPECT_EQ(memory_.describe(reinterpret_cast<std::uintptr_t>(&input_[4])), "global q+0x10");
  EXPECT_EQ(memory_.describe(16), "global 0x10");
}

TEST_F(GlobalMemoryTest, TwoStoresRaceUnlessOneThreadMakesBoth) {
  EXPECT_FALSE(store(3, 0));
  EXPECT_FALSE(store(3, 0));
  const auto hazard = store(3, 1);
  ASSERT_TRUE(hazard.has_value());
  EXPECT_EQ(hazard->kind, FindingKind::kGlobalRace);
  EXPECT_EQ(hazard->writer->thread, 3);
  EXPECT_EQ(hazard->writer->block_index, 0u);
}

TEST_F(GlobalMemoryTest, AtomicsRaceWithStoresOnly) {
  EXPECT_FALSE(store(2, 5));
  EXPECT_FALSE(add(2, 5));
  EXPECT_FALSE(add(1, 0));
  const auto hazard = store(1, 0);
  ASSERT_TRUE(hazard.has_value());
  EXPECT_FALSE(hazard->writer.has_value());
  EXPECT_TRUE(add(2, 0).has_value());
}

TEST_F(GlobalMemoryTest, ALoadRacesWithAnotherBlocksStore) {
  store(3, 2);
  EXPECT_FALSE(load(4, 2));
  EXPECT_TRUE(load(3, 1).has_value());
}

TEST_F(GlobalMemoryTest, FindsReadsOfWhatNothingHasWritten) {
  for (const auto& hazard : {load(0, 0), add(0, 0)}) {
    ASSERT_TRUE(hazard.has_value());
    EXPECT_EQ(hazard->kind, FindingKind::kUninitializedRead);
  }
  EXPECT_FALSE(check(AccessKind::kLoadGlobal, input_.data(), 0, 0));
}

TEST_F(GlobalMemoryTest, RejectsRegionsThatOverlap) {
  regions_[1].base = &input_[4];
  EXPECT_THROW(GlobalMemory(regions_, kThreads, true), std::invalid_argument);
}

TEST_F(GlobalMemoryTest, RejectsAMisalignedRegion) {
  regions_[0].base = reinterpret_cast<std::byte*>(input_.data()) + 2;
  EXPECT_THROW(GlobalMemory(regions_, kThreads, true), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
