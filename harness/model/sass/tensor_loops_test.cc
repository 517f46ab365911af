#include "harness/model/sass/tensor_loops.h"

#include <gtest/gtest.h>

#include "harness/model/sass/mask_code.h"
#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

std::vector<TensorLoop> loops_of(const SassFunction& function) {
  return find_tensor_loops(function, find_mask_code(function, true));
}

TEST(TensorLoops, OfARecordingLeaveTheMaskOut) {
  const auto function = parse_sass_listing(recorded_listing("sass"))[0];
  const auto loops = loops_of(function);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(function.instructions[loops[0].first].address, 0xf0u);
  EXPECT_EQ(function.instructions[loops[0].last].address, 0x400u);
  EXPECT_EQ(loops[0].instructions, 50);
  EXPECT_EQ(loops[0].path.size(), 39u);  // without the eleven from 0x210 to 0x2b0
  EXPECT_EQ(loops[0].tensor_flop, 2 * 2048);
  EXPECT_EQ(loops[0].masks, 0);
}

TEST(TensorLoops, HaveMasksWhereNoBranchLeavesThemOut) {
  const auto loops =
      loops_of(function_of(joined({mma_fp32(), {"FSEL R8, R8, -INF, P1", "@P0 BRA 0x0", "EXIT"}})));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].masks, 1);
  EXPECT_EQ(loops[0].path.size(), 6u);
}

TEST(TensorLoops, KeepOptionalCodeInLineAlone) {
  const auto loops = loops_of(function_of(joined({mma_fp32(),
                                                  {"@P1 BRA 0x60",  // 0x40
                                                   "LDG.E.128.SYS R4, [R2]",
                                                   "@P2 BRA 0x90",  // 0x60
                                                   "@P0 BRA 0x0", "EXIT",
                                                   "FMUL R1, R1, R1",  // 0x90
                                                   "BRA 0x70"}})));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].path, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(loops[0].instructions, 10);
}

/// A branch past each of two parts of a mask, and one past both.
TEST(TensorLoops, LeaveOutAMaskOfPartsAtOnce) {
  const auto loops = loops_of(function_of(
      joined({mma_fp32(),
              {"@P1 BRA 0xa0",  // 0x40
               "ISETP.GE.AND P2, PT, R1, R2, PT", "@P2 BRA 0x80", "FSEL R8, R8, -INF, P3",
               "@P4 BRA 0xa0",  // 0x80
               "FSEL R9, R9, -INF, P5",
               "@P0 BRA 0x0",  // 0xa0
               "EXIT"}})));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].path, (std::vector<int>{0, 1, 2, 3, 4, 10}));
  EXPECT_EQ(loops[0].masks, 0);
}

TEST(TensorLoops, PreferThePassThatDoesTheProducts) {
  const auto loops = loops_of(
      function_of(joined({{"@P1 BRA 0x20", "BRA 0x60"}, mma_fp32(), {"@P0 BRA 0x0", "EXIT"}})));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].tensor_flop, 2048);
  EXPECT_EQ(loops[0].path.size(), 6u);
}

TEST(TensorLoops, AreInnermostAndTheMainHasNoMask) {
  const auto function = function_of(
      joined({{"NOP"},
              mma_fp32(),  // 0x10: masked copy
              {"FSEL R8, R8, -INF, P1", "@P0 BRA 0x10"},
              mma_fp32(),  // 0x70
              {"@P0 BRA 0x70"},
              {"HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8", "@P2 BRA 0x0", "EXIT"}}));
  const auto loops = loops_of(function);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(function.instructions[loops[0].first].address, 0x70u);
  EXPECT_EQ(loops[0].masks, 0);
  EXPECT_EQ(function.instructions[loops[1].first].address, 0x10u);
  EXPECT_EQ(loops[1].masks, 1);
}

TEST(TensorLoops, AreNoneWithoutTensorInstructions) {
  EXPECT_TRUE(loops_of(function_of({"NOP", "@P0 BRA 0x0", "EXIT"})).empty());
  EXPECT_TRUE(loops_of(function_of(joined({mma_fp32(), {"EXIT"}}))).empty());
}

}  // namespace
}  // namespace sparkbench
