#include "harness/model/sm/code_walk.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"
#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

SassFunction code(const std::vector<std::string>& texts) {
  std::vector<CodeLine> lines;
  for (const std::string& text : texts) lines.push_back({"S01", text});
  return code_of(lines);
}

std::vector<int> indices(const WarpPath& path) {
  std::vector<int> all;
  for (const PathStep& step : path) all.push_back(step.instruction);
  return all;
}

/// Two loops, one in the other, with an instruction that a branch may skip.
SassFunction nested() {
  return code({"MOV R0, R1",       // 0x00
               "MOV R2, R3",       // 0x10: the outer head
               "FADD R4, R4, R5",  // 0x20: the inner head
               "@P1 BRA 0x50",     // 0x30
               "FMUL R6, R6, R7",  // 0x40
               "@P0 BRA 0x20",     // 0x50
               "@!P2 BRA 0x10",    // 0x60
               "@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ", "EXIT", "BRA 0x90"});
}

std::string refusal_of(const SassFunction& function, std::optional<std::uint32_t> address) {
  return message_of<UsageError>([&] { pick_loop(function, address); });
}

TEST(CodeWalk, FindsLoops) {
  EXPECT_EQ(find_loops(nested()), (std::vector<CodeLoop>{{1, 6}, {2, 5}}));
  EXPECT_EQ(find_loops(code({"@P0 BRA 0x0", "@P1 BRA 0x0", "EXIT"})),
            (std::vector<CodeLoop>{{0, 1}}));
  EXPECT_TRUE(find_loops(code({"FADD R0, R0, R1", "@!PT BRA 0x0", "EXIT"})).empty());
}

TEST(CodeWalk, PicksALoop) {
  EXPECT_EQ(pick_loop(nested(), std::nullopt), (CodeLoop{1, 6}));
  EXPECT_EQ(pick_loop(nested(), 0x20), (CodeLoop{2, 5}));
  EXPECT_EQ(pick_loop(nested(), 0x60), (CodeLoop{1, 6}));
  const SassFunction tensor =
      code({"MOV R0, R1", "MOV R0, R1", "@P0 BRA 0x0",
            "HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8", "@P0 BRA 0x30", "EXIT"});
  EXPECT_EQ(pick_loop(tensor, std::nullopt), (CodeLoop{3, 4}));
  EXPECT_EQ(refusal_of(nested(), 0x30),
            "--loop: no loop begins or ends at 0x30; allowed: 0x10, 0x20");
  EXPECT_EQ(refusal_of(code({"EXIT"}), std::nullopt),
            "--function: f has no loop; allowed: with --whole");
}

TEST(CodeWalk, TurnsALoopInsideAsOftenAsAsked) {
  WalkPolicy policy;
  policy.trips = {{0x20, 2}};
  const CodeWalk walk = walk_loop(nested(), {1, 6}, policy);
  EXPECT_EQ(indices(walk.path), (std::vector{1, 2, 3, 4, 5, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(walk.path[4].is_taken);
  EXPECT_FALSE(walk.path[8].is_taken);
  EXPECT_TRUE(walk.path.back().is_taken);
  EXPECT_EQ(walk.notes,
            (std::set<std::string>{"branch 0x30 @P1 BRA 0x50 assumed not taken (--taken 0x30)"}));
}

TEST(CodeWalk, TakesNamedBranchesForward) {
  WalkPolicy policy;
  policy.trips = {{0x50, 1}};
  policy.taken = {0x30};
  const CodeWalk walk = walk_loop(nested(), {1, 6}, policy);
  EXPECT_EQ(indices(walk.path), (std::vector{1, 2, 3, 5, 6}));
  EXPECT_TRUE(walk.notes.empty());
}

TEST(CodeWalk, GoesFromEntryToEnd) {
  WalkPolicy policy;
  policy.trips = {{0x20, 1}, {0x10, 2}};
  policy.skipped = {0x40};
  const CodeWalk walk = walk_whole(nested(), policy);
  EXPECT_EQ(indices(walk.path), (std::vector{0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(walk.path[4].is_executed);
  EXPECT_FALSE(walk.path[13].is_executed);
  EXPECT_TRUE(walk.path[14].is_executed);
}

TEST(CodeWalk, LeavesALoopThatBranchesBackAlways) {
  const SassFunction function =
      code({"FADD R0, R0, R1", "@P0 BRA 0x40", "FMUL R2, R2, R3", "BRA 0x0", "EXIT"});
  WalkPolicy policy;
  policy.trips = {{0x0, 2}};
  EXPECT_EQ(indices(walk_whole(function, policy).path),
            (std::vector{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 4}));
}

TEST(CodeWalk, RefusesAWayWithoutMeasure) {
  WalkPolicy policy;
  policy.default_trips = 100'000'000;
  EXPECT_THROW(walk_whole(nested(), policy), UsageError);
}

TEST(CodeWalk, MakesTeamsOfBarriersInRegisters) {
  const SassFunction function =
      code({"BAR.SYNC R4, 0x40", "BAR.SYNC 0x0", "BAR.ARV 0x2, 0x60", "EXIT"});
  const BlockPaths block = block_of(straight_path(function), time_code(function, {}), 4);
  ASSERT_EQ(block.size(), 4u);
  for (int warp = 0; warp < 4; ++warp) {
    EXPECT_EQ(block[warp][0].barrier, kNumberedBarriers + warp / 2);
    EXPECT_EQ(block[warp][0].barrier_warps, 2);
    EXPECT_EQ(block[warp][1].barrier_warps, 0);
    EXPECT_EQ(block[warp][2].barrier, 2);
    EXPECT_EQ(block[warp][2].barrier_warps, 3);
  }
}

}  // namespace
}  // namespace sparkbench
