#include "harness/model/sm/sm_simulator.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/model/sm/code_walk.h"
#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

/// Code is there at once, so that times are those of the instructions.
SmConstants fetched() {
  SmConstants constants;
  constants.l0_miss_jump = 0;
  return constants;
}

SmWork work_of(const std::vector<const BlockPaths*>& blocks, int resident) {
  SmWork work;
  work.blocks = blocks;
  work.start_offsets = staggered_starts(resident, 0);
  return work;
}

/// When each step of each warp of the first block issues, one warp after the other.
std::vector<Cycle> issues_of(const TimedCode& code, const BlockPaths& block) {
  SmWork work = work_of({&block}, 1);
  for (int warp = 0; warp < static_cast<int>(block.size()); ++warp) {
    for (int i = 0; i < static_cast<int>(block[warp].size()); ++i) {
      work.marks.push_back({0, warp, i});
    }
  }
  return simulate(code, work).marks;
}

/// When one warp, which executes each line once, issues.
std::vector<Cycle> issues_of(const std::vector<CodeLine>& lines) {
  const SassFunction function = code_of(lines);
  return issues_of(time_code(function, fetched()), {straight_path(function)});
}

using Cycles = std::vector<Cycle>;

TEST(SmSimulator, ObeysStallCounts) {
  EXPECT_EQ(issues_of({{"S04", "IADD3 R0, R0, R1, R2"},
                       {"S02", "MOV R3, R4"},
                       {"S00", "NOP"},
                       {"S05", "EXIT"}}),
            (Cycles{0, 4, 6, 7}));
}

TEST(SmSimulator, WaitsForScoreboards) {
  EXPECT_EQ(issues_of({{"W0 S01", "MUFU.EX2 R0, R1"}, {"B0----- S01", "FADD R2, R0, R0"}}),
            (Cycles{0, 18}));
  EXPECT_EQ(issues_of({{"W2 S01", "LDS.U.32 R0, [R1]"}, {"B--2--- S01", "FADD R2, R0, R0"}}),
            (Cycles{0, 19}));
  EXPECT_EQ(issues_of({{"R1 S01", "STS [R1], R0"}, {"B-1---- S01", "MOV R0, R2"}}),
            (Cycles{0, 2 + 6}));
  EXPECT_EQ(issues_of({{"R1 S01", "MUFU.EX2 R0, R1"}, {"B-1---- S01", "MOV R1, R2"}}),
            (Cycles{0, 8 + 4}));
}

TEST(SmSimulator, WaitsUntilFewerArePending) {
  EXPECT_EQ(issues_of({{"W0 S01", "LDS.U.32 R0, [R1]"},
                       {"W0 S01", "LDS.U.32 R2, [R1]"},
                       {"S01", "DEPBAR.LE SB0, 0x1"},
                       {"B0----- S01", "FADD R2, R0, R2"}}),
            (Cycles{0, 1, 19, 2 - 1 + 4 + 19 - 1}));
}

TEST(SmSimulator, GivesAPortToOneInstructionAtATime) {
  EXPECT_EQ(
      issues_of(
          {{"S01", "MUFU.EX2 R0, R1"}, {"S01", "FADD R2, R3, R3"}, {"S01", "MUFU.EX2 R4, R5"}}),
      (Cycles{0, 1, 8}));
  EXPECT_EQ(issues_of({{"S01", "HFMA2 R0, R1, R2, R3"},
                       {"S01", "HMMA.884.F16.F16.STEP0 R8, R4.ROW, R6.COL, R8"},
                       {"S01", "DFMA R0, R2, R4, R6"}}),
            (Cycles{0, 2, 6}));
}

TEST(SmSimulator, ForwardsAccumulatorsToTensorInstructionsOnly) {
  const std::string f32 = "HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8";
  const std::string f16 = "HMMA.884.F16.F16.STEP0 R8, R4.ROW, R6.COL, R8";
  EXPECT_EQ(issues_of({{"W0 S01", f32}, {"B0----- S01", f32}}), (Cycles{0, 2}));
  EXPECT_EQ(issues_of({{"W0 S01", f16}, {"B0----- S01", f16}}), (Cycles{0, 9}));
  EXPECT_EQ(issues_of({{"W0 S01", f32}, {"B0----- S01", "FADD R0, R8, R8"}}), (Cycles{0, 14}));
  EXPECT_EQ(issues_of({{"W0 S01", "LDS.U.64 R4, [R0]"}, {"W0 S02", f32}, {"B0----- S01", f32}}),
            (Cycles{0, 1, 20}));
}

TEST(SmSimulator, TakesTimeForABranchThatIsTaken) {
  const SassFunction function = code_of({{"S01", "BRA 0x10"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  EXPECT_EQ(issues_of(code, {{{0, true}, {1}}}), (Cycles{0, 8}));
  EXPECT_EQ(issues_of(code, {{{0, false}, {1}}}), (Cycles{0, 1}));
}

TEST(SmSimulator, GivesWhatIsNotExecutedASlotOnly) {
  const SassFunction function = code_of({{"W0 S01", "MUFU.EX2 R0, R1"},
                                         {"B0----- S01", "MUFU.EX2 R2, R3"},
                                         {"S01", "@!PT MUFU.EX2 R2, R3"}});
  PathStep skipped{0};
  skipped.is_executed = false;
  EXPECT_EQ(issues_of(time_code(function, fetched()), {{skipped, {1}, {2}}}), (Cycles{0, 1, 2}));
}

TEST(SmSimulator, WaitsForCodeThatIsNotThere) {
  const SassFunction function = code_of({{"S01", "NOP"}, {"S01", "EXIT"}});
  EXPECT_EQ(issues_of(time_code(function, {}), {straight_path(function)}), (Cycles{20, 21}));
}

/// Warps 0 and 4 have a scheduler, and the others none or one each.
TEST(SmSimulator, PrefersTheLastWarpThenTheYoungest) {
  const SassFunction function =
      code_of({{"S01", "NOP"}, {"Y S01", "NOP"}, {"S01", "NOP"}, {"S01", "EXIT"}});
  SmConstants constants = fetched();
  const BlockPaths block(5, straight_path(function));
  const auto of_warp = [&](int warp) {
    const Cycles all = issues_of(time_code(function, constants), block);
    return Cycles(all.begin() + 4 * warp, all.begin() + 4 * warp + 4);
  };
  EXPECT_EQ(of_warp(4), (Cycles{0, 1, 4, 5}));
  EXPECT_EQ(of_warp(0), (Cycles{2, 3, 6, 7}));
  EXPECT_EQ(of_warp(1), (Cycles{0, 1, 2, 3}));
  constants.scheduler = kGreedyThenOldest;
  EXPECT_EQ(of_warp(0), (Cycles{0, 1, 4, 5}));
  constants.scheduler = kRoundRobin;
  EXPECT_EQ(of_warp(0), (Cycles{0, 1, 4, 5}));
}

TEST(SmSimulator, OpensABarrierWhenAllHaveArrived) {
  const SassFunction function = code_of({{"S10", "NOP"}, {"S01", "BAR.SYNC 0x0"}, {"S01", "EXIT"}});
  EXPECT_EQ(issues_of(time_code(function, fetched()), {{{0}, {1}, {2}}, {{1}, {2}}}),
            (Cycles{0, 10, 26, 0, 26}));
}

TEST(SmSimulator, KeepsTeamsAndNamedBarriersApart) {
  const SassFunction function =
      code_of({{"S10", "NOP"}, {"S01", "BAR.SYNC R4, 0x40"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  BlockPaths block = block_of(straight_path(function), code, 4);
  for (const int warp : {2, 3}) block[warp].erase(block[warp].begin());
  EXPECT_EQ(issues_of(code, block), (Cycles{0, 10, 26, 0, 10, 26, 0, 16, 0, 16}));
}

TEST(SmSimulator, DoesNotWaitWhereAWarpOnlyArrives) {
  const SassFunction function =
      code_of({{"S01", "BAR.ARV 0x1, 0x40"}, {"S01", "BAR.SYNC 0x1, 0x40"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  BlockPaths block = block_of(straight_path(function), code, 2);
  block[0].erase(block[0].begin() + 1);
  block[1].erase(block[1].begin());
  EXPECT_EQ(issues_of(code, block), (Cycles{0, 1, 0, 16}));
}

TEST(SmSimulator, DoesNotWaitForWarpsThatHaveEnded) {
  const SassFunction function = code_of({{"S10", "NOP"}, {"S01", "BAR.SYNC 0x0"}, {"S01", "EXIT"}});
  EXPECT_EQ(issues_of(time_code(function, fetched()), {{{0}, {2}}, {{1}, {2}}}),
            (Cycles{0, 10, 0, 26}));
}

TEST(SmSimulator, NamesWarpsThatWaitForEver) {
  const SassFunction function = code_of({{"S01", "BAR.SYNC 0x0, 0x80"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  const BlockPaths block = block_of(straight_path(function), code, 2);
  try {
    simulate(code, work_of({&block}, 1));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "the warps wait for each other at cycle 1: warp 0 of block 0 waits at a barrier "
                 "before the instruction at 0x10");
  }
}

TEST(SmSimulator, StartsABlockWhereOneHasEnded) {
  const SassFunction function = code_of({{"S10", "NOP"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  const BlockPaths longer = {{{0}, {0}, {1}}}, shorter = {{{0}, {1}}};
  const SmResult result = simulate(code, work_of({&longer, &shorter, &shorter, &longer}, 2));
  const std::vector<std::pair<Cycle, Cycle>> expected = {{0, 21}, {0, 11}, {11, 22}, {21, 42}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::pair(result.blocks[i].start, result.blocks[i].end), expected[i]) << i;
  }
  EXPECT_EQ(result.cycles, 42);
}

/// Its scoreboards are free, though the block before it left a load behind.
TEST(SmSimulator, StartsABlockWithCleanScoreboards) {
  const SassFunction function =
      code_of({{"B0----- S01", "NOP"}, {"W0 S01", "LDG.E.32.SYS R0, [R2]"}, {"S01", "EXIT"}});
  const TimedCode code = time_code(function, fetched());
  const BlockPaths block = {straight_path(function)};
  EXPECT_EQ(simulate(code, work_of({&block, &block, &block}, 1)).cycles, 9);
}

TEST(SmSimulator, MeasuresThePassesOfALoop) {
  const SassFunction function = code_of({{"S02", "FADD R0, R0, R1"}, {"S01", "@P0 BRA 0x0"}});
  const TimedCode code = time_code(function, fetched());
  const BlockPaths block = {{{0, false}, {1, true}}};
  SmWork work = work_of({&block}, 1);
  work.repeats = true;
  const SmResult result = simulate(code, work);
  EXPECT_EQ(result.cycles, 80);
  EXPECT_EQ(result.iterations, 8);
  EXPECT_EQ(result.instructions[0].issues, 8);
  EXPECT_EQ(result.waits[WaitReason::kIssuing], 16);
}

TEST(SmSimulator, SaysWhatWarpsWaitFor) {
  const SassFunction function = code_of(
      {{"W0 S01", "LDS.U.32 R0, [R1]"}, {"B0----- S03", "FADD R2, R0, R0"}, {"S01", "EXIT"}});
  const BlockPaths block = {straight_path(function)};
  const SmResult result = simulate(time_code(function, fetched()), work_of({&block}, 1));
  const WaitReason load = WaitReason::kResult + TimingClass::kLds;
  EXPECT_EQ(result.instructions[1].waits[load], 18);
  EXPECT_EQ(result.waits[load], 18);
  EXPECT_EQ(result.waits[WaitReason::kStallCount], 2);
  EXPECT_EQ(result.waits.total(), 18 + 2 + 3);
  EXPECT_EQ(name_of(load), "scoreboard LDS");
  EXPECT_EQ(name_of(WaitReason::kSources + TimingClass::kLds), "scoreboard LDS read");
  EXPECT_EQ(name_of(WaitReason::kPort + Port::kXu), "port XU");
  EXPECT_EQ(name_of(WaitReason::kMioQueue), "MIO queue");
}

TEST(SmSimulator, RefusesWorkThatIsNone) {
  const SassFunction function = code_of({{"S01", "EXIT"}});
  const TimedCode code = time_code(function, {});
  const BlockPaths block = {straight_path(function)}, empty = {{}}, outside = {{{1}}}, none = {};
  const auto refuses = [&](const SmWork& work) {
    EXPECT_THROW(simulate(code, work), std::invalid_argument);
  };
  refuses({});
  refuses(work_of({&block}, 2));
  for (const BlockPaths* bad : {&empty, &outside, &none}) refuses(work_of({bad}, 1));
  SmWork marked = work_of({&block}, 1);
  marked.marks = {{0, 0, 1}};
  refuses(marked);
  SmWork queued = work_of({&block, &block}, 1);
  queued.repeats = true;
  refuses(queued);
}

}  // namespace
}  // namespace sparkbench
