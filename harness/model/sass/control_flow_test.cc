#include "harness/model/sass/control_flow.h"

#include <gtest/gtest.h>

#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

using Blocks = std::vector<int>;

TEST(BasicBlocks, EndAtBranchesAndBeginAtTheirTargets) {
  const auto blocks = basic_blocks(function_of({"NOP", "@P0 BRA 0x30", "NOP", "EXIT"}));
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].begin, 0);
  EXPECT_EQ(blocks[0].end, 2);
  EXPECT_EQ(blocks[0].successors, (Blocks{1, 2}));
  EXPECT_EQ(blocks[1].successors, Blocks{2});
  EXPECT_EQ(blocks[2].successors, Blocks{});
}

TEST(BasicBlocks, OfAPredicatedExitGoOn) {
  const auto blocks = basic_blocks(function_of({"@P0 EXIT", "EXIT"}));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].successors, Blocks{1});
}

TEST(BasicBlocks, OfNoInstructionsAreNone) {
  EXPECT_TRUE(basic_blocks(SassFunction{}).empty());
  EXPECT_TRUE(natural_loops({}).empty());
}

TEST(NaturalLoops, OfARecordedKernelAreItsOneLoop) {
  const auto function = parse_sass_listing(recorded_listing("sass"))[0];
  const auto blocks = basic_blocks(function);
  const auto loops = natural_loops(blocks);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(function.instructions[blocks[loops[0].blocks.front()].begin].address, 0xf0u);
  EXPECT_EQ(function.instructions[blocks[loops[0].blocks.back()].end - 1].address, 0x400u);
  EXPECT_EQ(loops[0].blocks.size(), 3u);
}

TEST(NaturalLoops, AreFoundNestedAndSideBySide) {
  const auto loops = natural_loops(basic_blocks(function_of({
      "NOP",           // 0x00
      "NOP",           // 0x10 outer head
      "NOP",           // 0x20 inner head
      "@P0 BRA 0x20",  // 0x30
      "@P1 BRA 0x10",  // 0x40
      "@P2 BRA 0x50",  // 0x50 a loop of one instruction
      "EXIT",          // 0x60
  })));
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(loops[0].blocks, (Blocks{1, 2, 3}));
  EXPECT_EQ(loops[1].blocks, Blocks{2});
  EXPECT_EQ(loops[2].blocks, Blocks{4});
}

TEST(NaturalLoops, HaveTheCodeThatWasMovedBehindThem) {
  const auto loops = natural_loops(basic_blocks(function_of({
      "NOP",           // 0x00 head
      "@P0 BRA 0x50",  // 0x10 out of the way
      "NOP",           // 0x20 and back here
      "@P1 BRA 0x0",   // 0x30
      "EXIT",          // 0x40
      "NOP",           // 0x50
      "BRA 0x20",      // 0x60 goes back without being a loop
  })));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].header, 0);
  EXPECT_EQ(loops[0].blocks, (Blocks{0, 1, 3}));
  EXPECT_TRUE(loops[0].contains(3));
  EXPECT_FALSE(loops[0].contains(2));
}

}  // namespace
}  // namespace sparkbench
