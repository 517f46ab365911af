#include "harness/model/sm/unseen.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

using Notes = std::set<std::string>;

Notes unseen_notes_of(const std::vector<std::string>& code, int warps = 8, bool repeats = false) {
  std::vector<CodeLine> lines;
  for (const std::string& text : code) lines.push_back({"S04", text});
  const SassFunction function = code_of(lines);
  return notes_of_unseen(function, straight_path(function), warps, repeats);
}

const std::string kOfLoads =
    "loads from global memory are taken as hits of L2 on an idle card: a working set over 6 MB and "
    "scattered addresses take longer; --sensitivity has the price of misses";

std::string of_gathers(int count) {
  return std::to_string(count) +
         " loads a pass and warp are from addresses that were loaded, as of gathers and lists: "
         "taken as if lanes were next to each other";
}

TEST(Unseen, CountsTheBytesThatAStackReaches) {
  EXPECT_EQ(unseen_notes_of({"STL.64 [R1+0x8], R2", "LDL R4, [R1+0x8]", "LDL R5, [R1]"}),
            Notes({"3 accesses to the stack a pass and warp, taken as hits of L1; they reach 12 "
                   "bytes a thread, 3 KiB of an SM, which has 128 KiB with shared memory"}));
}

TEST(Unseen, SaysWhichStacksL1DoesNotHold) {
  std::vector<std::string> code;
  for (int i = 0; i < 20; ++i) code.push_back(fmt::format("LDL.128 R4, [R1+{:#x}]", 16 * i));
  EXPECT_EQ(unseen_notes_of(code, 16),
            Notes({"20 accesses to the stack a pass and warp, taken as hits of L1; they reach 320 "
                   "bytes a thread, 160 KiB of an SM, more than its 128 KiB: --set "
                   "ldl_latency=200 takes all as hits of L2"}));
}

TEST(Unseen, FindsLoadsByLoadedAddresses) {
  const std::vector<std::string> gather = {"LDG.E.SYS R4, [R2]", "IMAD.WIDE R6, R4, 0x4, R10",
                                           "LDG.E.SYS R8, [R6+0x10]"};
  EXPECT_EQ(unseen_notes_of(gather), Notes({kOfLoads, of_gathers(1)}));
  EXPECT_EQ(unseen_notes_of({"LDG.E.SYS R4, [R2]", "MOV R4, R3", "LDG.E.SYS R8, [R4]"}),
            Notes({kOfLoads}));
  EXPECT_EQ(unseen_notes_of({"LDG.E.128.SYS R4, [R2]", "LDG.E.128.SYS R8, [R2+0x10]"}),
            Notes({kOfLoads}));
}

TEST(Unseen, FollowsAddressesThroughShufflesAndPastComparisons) {
  EXPECT_EQ(unseen_notes_of({"LDG.E.SYS R4, [R2]", "SHFL.IDX PT, R5, R4, RZ, 0x1f",
                             "ISETP.GE.AND P0, PT, R5, R9, PT", "IMAD.WIDE R6, R5, 0x4, R10",
                             "LDG.E.SYS R8, [R6]"}),
            Notes({kOfLoads, of_gathers(1)}));
}

TEST(Unseen, FollowsAddressesIntoALoopsNextPass) {
  const std::vector<std::string> chase = {"LDG.E.SYS R8, [R6]", "LDG.E.64.SYS R6, [R2]"};
  EXPECT_EQ(unseen_notes_of(chase, 8, true), Notes({kOfLoads, of_gathers(1)}));
  EXPECT_EQ(unseen_notes_of(chase), Notes({kOfLoads}));
}

TEST(Unseen, SuspectsRolesWhereBarriersHaveNames) {
  const Notes roles = {
      "named barriers: warps may have roles of their own, and all are taken to run this path"};
  EXPECT_EQ(unseen_notes_of({"BAR.SYNC 0x1, 0x40"}), roles);
  EXPECT_EQ(unseen_notes_of({"BAR.ARV 0x0, 0x40"}), roles);
  EXPECT_EQ(unseen_notes_of({"BAR.SYNC R4, 0x40"}), roles);
  EXPECT_EQ(unseen_notes_of({"BAR.SYNC 0x0"}), Notes());
}

TEST(Unseen, IsSilentOfArithmetic) {
  EXPECT_EQ(unseen_notes_of({"FADD R1, R2, R3", "STS [R1], R2", "LDS R4, [R1]"}), Notes());
}

}  // namespace
}  // namespace sparkbench
