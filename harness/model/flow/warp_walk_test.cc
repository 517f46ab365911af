#include "harness/model/flow/warp_walk.h"

#include <gtest/gtest.h>

#include "harness/model/flow/test_warp.h"
#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

using Lines = std::vector<std::string>;

std::vector<PathNote> notes_of(const Lines& instructions) {
  return LaunchPaths(function_of(instructions), launch_with({})).of_block(kTestBlock).notes;
}

std::string error_of(const Lines& instructions) {
  return message_of<std::runtime_error>([&] { path_of(instructions); });
}

TEST(WarpWalk, FollowsALoopAsOftenAsAParameterSays) {
  const Lines loop = {"MOV R2, c[0x0][0x160]",            //
                      "IADD3 R2, R2, -0x1, RZ",           // 1
                      "ISETP.NE.AND P0, PT, R2, RZ, PT",  //
                      "@P0 BRA 0x10",                     //
                      "EXIT"};
  EXPECT_EQ(text_of(path_of(loop, {1})), "0 1 2 3x 4");
  EXPECT_EQ(text_of(path_of(loop, {3})), "0 1 2 3t 1 2 3t 1 2 3x 4");
}

TEST(WarpWalk, BranchesOnTwoPredicatesWhenBothHold) {
  const Lines branch = {"ISETP.NE.AND P0, PT, RZ, c[0x0][0x160], PT",
                        "ISETP.NE.AND P1, PT, RZ, c[0x0][0x164], PT",  //
                        "@!P0 BRA P1, 0x40",                           //
                        "EXIT",                                        //
                        "EXIT"};
  EXPECT_EQ(text_of(path_of(branch, {0, 1})), "0 1 2t 4");
  EXPECT_EQ(text_of(path_of(branch, {1, 1})), "0 1 2x 3");
  EXPECT_EQ(text_of(path_of(branch, {0, 0})), "0 1 2 3");
}

/// Lanes 0 to 3 do one thing, the others another.
const Lines kParting = {"S2R R2, SR_LANEID",  //
                        "ISETP.LT.AND P0, PT, R2, 0x4, PT",
                        "BSSY B0, 0x80",  // 2
                        "@P0 BRA 0x60",   //
                        "NOP",            // 4
                        "BRA 0x70",       //
                        "NOP",            // 6
                        "BSYNC B0",       //
                        "EXIT"};          // 8

TEST(WarpWalk, RunsPartedLanesOneAfterTheOther) {
  EXPECT_EQ(text_of(path_of(kParting)), "0 1 2 3 4 5t 7 6 7 8");
}

TEST(WarpWalk, NeedsNoMeetingWhereAllGoOneWay) {
  Lines together = kParting;
  together[1] = "ISETP.LT.AND P0, PT, R2, 0x20, PT";
  EXPECT_EQ(text_of(path_of(together)), "0 1 2 3t 6 7 8");
}

TEST(WarpWalk, WaitsForNoneThatHasEnded) {
  Lines ending = kParting;
  ending[6] = "EXIT";
  EXPECT_EQ(text_of(path_of(ending)), "0 1 2 3 4 5t 7 6 8");
}

TEST(WarpWalk, WaitsForNoneThatBreaksOut) {
  Lines breaking = kParting;
  breaking[6] = "BREAK B0";
  breaking[7] = "@!P0 BSYNC B0";
  EXPECT_EQ(text_of(path_of(breaking)), "0 1 2 3 4 5t 7 6 7x 8 8");
}

TEST(WarpWalk, PartsLanesByTheTurnsOfALoop) {
  const Lines loop = {"S2R R2, SR_LANEID",
                      "BSSY B1, 0x60",
                      "IADD3 R2, R2, -0x1f, RZ",  // 2: from -31 or -30 up to 0
                      "LOP3.LUT R2, R2, 0x1, RZ, 0xc0, !PT",
                      "ISETP.NE.AND P0, PT, R2, RZ, PT",  // 4: even lanes
                      "@P0 BRA 0x20",
                      "BSYNC B1",
                      "EXIT"};
  // Odd lanes are at once at 0; even ones take another turn.
  EXPECT_EQ(text_of(path_of(loop)), "0 1 2 3 4 5 6 2 3 4 5x 6 7");
}

TEST(WarpWalk, KnowsWhetherTheWarpIsTogether) {
  const Lines together = {"BRA.DIV 0x30", "BRA.CONV 0x40", "EXIT", "EXIT", "EXIT"};
  EXPECT_EQ(text_of(path_of(together)), "0 1t 4");
  Lines parted = kParting;
  parted[4] = "BRA.DIV 0x80";
  EXPECT_EQ(text_of(path_of(parted)), "0 1 2 3 4t 8 6 7 8");
}

TEST(WarpWalk, MeetsTheWarpAtWarpsync) {
  Lines meeting = kParting;
  meeting[7] = "WARPSYNC 0xffffffff";
  EXPECT_EQ(text_of(path_of(meeting)), "0 1 2 3 4 5t 7 6 7 8");
}

TEST(WarpWalk, ReturnsToTheAddressOrBehindTheCall) {
  const Lines calling = {"MOV R2, 0x30", "MOV R3, 0x0", "CALL.REL.NOINC 0x40",
                         "EXIT",         "NOP",         "RET.REL.NODEC R2 0x0"};
  EXPECT_EQ(text_of(path_of(calling)), "0 1 2t 4 5t 3");
  Lines unlinked = calling;
  unlinked[0] = "MOV R2, 32@lo((f + .L_x_0@srel))";
  EXPECT_EQ(text_of(path_of(unlinked)), "0 1 2t 4 5t 3");
}

TEST(WarpWalk, NamesTheBarrierAndWhoMeetsThere) {
  const Lines barriers = {"S2R R2, SR_CTAID.X", "BAR.SYNC 0x0", "BAR.SYNC R2, 0x40", "EXIT"};
  const WarpPath path = path_of(barriers);
  EXPECT_EQ(path[1].barrier, 0);
  EXPECT_EQ(path[1].barrier_warps, 0);
  EXPECT_EQ(path[2].barrier, 3);
  EXPECT_EQ(path[2].barrier_warps, 2);
}

/// As compilers keep several predicates in a register of whose other bits they know nothing.
TEST(WarpWalk, KnowsPredicatesKeptInARegisterNeverWritten) {
  const Lines kept = {"S2R R2, SR_CTAID.X",
                      "ISETP.EQ.AND P1, PT, R2, 0x3, PT",
                      "LOP3.LUT R9, R9, 0xfffffffe, RZ, 0xc0, !PT",
                      "@P1 LOP3.LUT R9, R9, 0x1, RZ, 0xfc, !PT",
                      "LOP3.LUT P0, RZ, R9, 0x1, RZ, 0xc0, !PT",
                      "@P0 BRA 0x80",
                      "NOP",
                      "NOP",
                      "EXIT"};
  EXPECT_EQ(text_of(path_of(kept)), "0 1 2 3 4 5t 8");
  EXPECT_TRUE(notes_of(kept).empty());
}

TEST(WarpWalk, TakesNoBranchThatDataDecide) {
  const Lines branch = {"LDG.E.SYS R2, [R4]", "ISETP.NE.AND P0, PT, R2, RZ, PT", "@P0 BRA 0x40",
                        "EXIT", "EXIT"};
  EXPECT_EQ(text_of(path_of(branch)), "0 1 2 3");
  const std::vector<PathNote> notes = notes_of(branch);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      text_of(notes[0], function_of(branch)),
      "0x20 @P0 BRA 0x40: depends on data; not taken unless it leads around a call (1 times)");
}

TEST(WarpWalk, GoesAroundCallsThatDataDecide) {
  Lines around = {"LDG.E.SYS R2, [R4]",
                  "ISETP.NE.AND P0, PT, R2, RZ, PT",
                  "@P0 BRA 0x60",
                  "MOV R6, 0x50",
                  "CALL.REL.NOINC 0x70",
                  "NOP",
                  "EXIT",
                  "RET.REL.NODEC R6 0x0"};
  EXPECT_EQ(text_of(path_of(around)), "0 1 2t 6");
}

TEST(WarpWalk, GoesOnWhereDataDecideTheEnd) {
  const Lines ending = {"FSETP.GT.AND P0, PT, R2, RZ, PT", "@P0 EXIT", "EXIT"};
  EXPECT_EQ(text_of(path_of(ending)), "0 1 2");
  EXPECT_EQ(notes_of(ending)[0].doubt, PathDoubt::kUnknownEnd);
}

TEST(WarpWalk, NamesOpcodesItDoesNotKnow) {
  const std::vector<PathNote> notes = notes_of({"NOVEL.WIDE R2, R4", "EXIT"});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].doubt, PathDoubt::kUnlisted);
}

TEST(WarpWalk, RefusesPathsThatItCannotFollow) {
  EXPECT_EQ(error_of({"BRA 0x0"}), "instruction 0x0: the path is too long; a loop may not end");
  EXPECT_EQ(error_of({"NOP", "BRA 0x100"}), "instruction 0x10: leads out of the function");
  EXPECT_EQ(error_of({"NOP"}), "instruction 0x0: leads out of the function");
  const std::string load = "LDG.E.SYS R2, [R4]";
  EXPECT_EQ(error_of({load, "RET.REL.NODEC R2 0x0"}),
            "instruction 0x10: returns to an unknown address");
  EXPECT_EQ(error_of({load, "BRX R2 -0x20"}), "instruction 0x10: jumps to an unknown address");
  EXPECT_EQ(error_of({load, "BAR.SYNC R2, 0x40"}),
            "instruction 0x10: is a barrier of unknown number");
}

}  // namespace
}  // namespace sparkbench
