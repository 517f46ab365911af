// What each opcode makes of known words: a table, lane 5's results worked out by hand.
#include <gtest/gtest.h>

#include "harness/model/flow/test_warp.h"

namespace sparkbench {
namespace {

constexpr int kLane = 5;

/// Executes instructions one after the other, without control, and asks for results.
class TestWarp {
 public:
  explicit TestWarp(const std::vector<std::uint32_t>& parameters = {}, KnownMemory memory = {})
      : launch_(launch_with(parameters, 64)), state_(launch_, kTestBlock, 1, shared_) {
    launch_.memory = std::move(memory);
  }

  TestWarp& run(const std::string& text) {
    const SassInstruction instruction = instruction_of(text);
    const Operation& operation = operation_of(instruction.opcode);
    ActiveLanes lanes{kAllLanes, 0};
    if (instruction.is_conditional()) {
      const LaneTruth guard =
          state_.read_truth(parse_operand(instruction.predicate, launch_.constants));
      lanes = {guard.is_true(), ~guard.known};
    }
    operation.execute(state_, read_operands(instruction, operation, launch_.constants), lanes);
    return *this;
  }
  /// Registers R2, R3, ... from R2 on.
  TestWarp& with(const std::vector<std::uint32_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      state_.write(static_cast<std::uint8_t>(2 + i), LaneWords::all(words[i]), {kAllLanes, 0});
    }
    return *this;
  }

  /// "0x12" or "?" of lane 5.
  std::string word(const std::string& operand) const {
    LaneWords scratch;
    const LaneWords& words = state_.read(parse_operand(operand, launch_.constants), scratch);
    return has_lane(words.known, kLane) ? fmt::format("{:#x}", words.value[kLane]) : "?";
  }
  std::string truth(const std::string& operand) const {
    const LaneTruth truth = state_.read_truth(parse_operand(operand, launch_.constants));
    if (!has_lane(truth.known, kLane)) return "?";
    return has_lane(truth.value, kLane) ? "true" : "false";
  }
  WarpValues& state() { return state_; }

 private:
  KernelLaunch launch_;
  SharedWords shared_;
  WarpValues state_;
};

/// With R2 = a, R3 = b, R4 = c, R5 = d.
struct OperationCase {
  const char* instruction;
  std::vector<std::uint32_t> inputs;
  const char* result;                 // of R10
  const char* upper_or_p0 = nullptr;  // of R11 where it begins with 0x, else of P0
};

void check(const std::vector<OperationCase>& cases) {
  for (const OperationCase& of : cases) {
    SCOPED_TRACE(of.instruction);
    TestWarp warp;
    warp.with(of.inputs).run(of.instruction);
    EXPECT_EQ(warp.word("R10"), of.result);
    if (of.upper_or_p0 == nullptr) continue;
    const bool is_word = std::string_view(of.upper_or_p0).starts_with("0x");
    EXPECT_EQ(is_word ? warp.word("R11") : warp.truth("P0"), of.upper_or_p0);
  }
}

TEST(Operations, AddIntegersWithCarries) {
  check({{"IADD3 R10, R2, 0x7f, RZ", {1}, "0x80"},
         {"IADD3 R10, -R2, R3, R4", {1, 10, 20}, "0x1d"},
         {"IADD3 R10, P0, R2, R3, RZ", {0xffffffff, 2}, "0x1", "true"},
         {"IADD3 R10, P0, R2, R3, RZ", {0x7fffffff, 2}, "0x80000001", "false"},
         {"IADD3 R10, P0, R2, -R3, RZ", {5, 0}, "0x5", "true"},  // no borrow
         {"IADD3 R10, P0, R2, -R3, RZ", {5, 6}, "0xffffffff", "false"},
         {"IADD3.X R10, R2, ~R3, RZ, PT, !PT", {5, 3}, "0x2"},
         {"IADD3.X R10, R2, ~R3, RZ, !PT, !PT", {5, 3}, "0x1"},
         {"IABS R10, R2", {0xfffffff0}, "0x10"},
         {"IMNMX R10, R2, R3, PT", {0xffffffff, 1}, "0xffffffff"},
         {"IMNMX.U32 R10, R2, R3, PT", {0xffffffff, 1}, "0x1"},
         {"IMNMX R10, R2, R3, !PT", {0xffffffff, 1}, "0x1"}});
}

TEST(Operations, MultiplyIntegersToOneOrTwoWords) {
  check({{"IMAD R10, R2, R3, R4", {3, 5, 7}, "0x16"},
         {"IMAD R10, R2, -0x2, R4", {3, 0, 7}, "0x1"},
         {"IMAD.MOV.U32 R10, RZ, RZ, R2", {9}, "0x9"},
         {"IMAD.MOV R10, RZ, RZ, -R2", {9}, "0xfffffff7"},
         {"IMAD.SHL.U32 R10, R2, 0x80, RZ", {9}, "0x480"},
         {"IMAD.IADD R10, R2, 0x1, -R3", {9, 4}, "0x5"},
         {"IMAD.X R10, R2, 0x1, R3, PT", {9, 4}, "0xe"},
         {"IMAD.WIDE.U32 R10, R2, R3, RZ", {0xffffffff, 2}, "0xfffffffe", "0x1"},
         {"IMAD.WIDE R10, R2, R3, RZ", {0xffffffff, 2}, "0xfffffffe", "0xffffffff"},
         {"IMAD.WIDE.U32 R10, R2, R3, R4", {1, 1, 0xffffffff, 6}, "0x0", "0x7"},
         {"IMAD.HI.U32 R10, R2, R3, RZ", {0x80000000, 6}, "0x3"},
         {"IMAD.HI R10, R2, R3, RZ", {0x80000000, 2}, "0xffffffff"},
         {"IMAD.HI.U32 R10, R2, R3, R4", {1, 1, 0xffffffff, 6}, "0x7"}});
}

TEST(Operations, ComputeAddresses) {
  check({{"LEA R10, R2, R3, 0x4", {3, 5}, "0x35"},
         {"LEA R10, P0, R2, R3, 0x1", {0x80000000, 0xfffffff0}, "0xfffffff0", "false"},
         {"LEA R10, P0, R2, R3, 0x1", {0x40000000, 0x80000001}, "0x1", "true"},
         {"LEA.HI R10, R2, R3, RZ, 0x7", {0xffffffff, 8}, "0x87"},
         {"LEA.HI.X R10, R2, R3, R4, 0x1, PT", {0x80000000, 8, 2}, "0xe"},
         {"LEA.HI.SX32 R10, R2, R3, 0x19", {0xffffff80, 8}, "0x7"},
         {"LEA.HI.SX32 R10, R2, -R3, 0x19", {0x100, 1}, "0x1"}});
}

TEST(Operations, CombineAndShiftBits) {
  check({{"LOP3.LUT R10, R2, R3, RZ, 0xc0, !PT", {12, 10}, "0x8"},
         {"LOP3.LUT R10, R2, R3, R4, 0x78, !PT", {12, 10, 2}, "0xe"},  // a ^ (b & c) has 0x78
         {"LOP3.LUT R10, RZ, R2, RZ, 0x33, !PT", {12}, "0xfffffff3"},
         {"LOP3.LUT P0, R10, R2, 0x1, RZ, 0xc0, !PT", {12}, "0x0", "false"},
         {"LOP3.LUT P0, R10, R2, 0x4, RZ, 0xc0, !PT", {12}, "0x4", "true"},
         {"SHF.R.U32.HI R10, RZ, 0x4, R2", {0xffffff80}, "0xffffff8"},
         {"SHF.R.S32.HI R10, RZ, 0x1f, R2", {0x80000000}, "0xffffffff"},
         {"SHF.R.U64 R10, R2, 0x4, R3", {0x10, 0xa}, "0xa0000001"},
         {"SHF.L.U32 R10, R2, R3, RZ", {1, 32}, "0x0"},
         {"SHF.L.U64.HI R10, R2, 0x4, R3", {0xf0000000, 1}, "0x1f"},
         {"SHF.L.W.U32.HI R10, R2, R3, R2", {0x80000001, 33}, "0x3"},
         {"SHF.R.W.U32 R10, R2, 0x1, R2", {0x80000001}, "0xc0000000"},
         {"PRMT R10, R2, 0x5410, R3", {0x11112222, 0x33334444}, "0x44442222"},
         {"PRMT R10, R2, 0x9180, R3", {0x8270, 0}, "0xff820070"},
         {"BMSK R10, R2, R3", {4, 3}, "0x70"},
         {"SGXT R10, R2, 0x8", {0x80}, "0xffffff80"},
         {"SGXT.U32 R10, R2, 0x8", {0x1ff}, "0xff"},
         {"POPC R10, R2", {0xf0f}, "0x8"},
         {"FLO.U32 R10, R2", {0x10}, "0x4"},
         {"FLO.U32.SH R10, R2", {0x10}, "0x1b"},
         {"FLO.U32 R10, R2", {0}, "0xffffffff"},
         {"BREV R10, R2", {1}, "0x80000000"}});
}

TEST(Operations, CompareSignedUnsignedAndTwoWords) {
  const auto p0 = [](const std::string& text, const std::vector<std::uint32_t>& inputs) {
    return TestWarp().with(inputs).run(text).truth("P0");
  };
  EXPECT_EQ(p0("ISETP.LT.AND P0, PT, R2, R3, PT", {0xffffffff, 1}), "true");
  EXPECT_EQ(p0("ISETP.LT.U32.AND P0, PT, R2, R3, PT", {0xffffffff, 1}), "false");
  EXPECT_EQ(p0("ISETP.GE.AND P0, PT, R2, 0x1, PT", {1}), "true");
  EXPECT_EQ(p0("ISETP.GT.OR P0, PT, R2, 0x1, PT", {1}), "true");
  EXPECT_EQ(p0("ISETP.LE.AND P0, PT, R2, 0x1, !PT", {1}), "false");
  EXPECT_EQ(p0("ISETP.NE.AND P0, PT, R2, RZ, PT", {1}), "true");
  EXPECT_EQ(p0("ISETP.EQ.AND P0, PT, R2, RZ, PT", {1}), "false");
  EXPECT_EQ(p0("ISETP.EQ.AND P1, P0, R2, RZ, PT", {1}), "true");
  EXPECT_EQ(p0("ISETP.GE.U32.AND.EX P0, PT, R2, R3, PT, PT", {7, 7}), "true");
  EXPECT_EQ(p0("ISETP.GE.U32.AND.EX P0, PT, R2, R3, PT, !PT", {7, 7}), "false");
  EXPECT_EQ(p0("ISETP.GE.U32.AND.EX P0, PT, R2, R3, PT, !PT", {8, 7}), "true");
}

TEST(Operations, MoveTruthsToWordsAndBack) {
  TestWarp warp;
  warp.with({0x25, 0xff00}).run("R2P PR, R2, 0x7f");
  EXPECT_EQ(warp.truth("P0"), "true");
  EXPECT_EQ(warp.truth("P1"), "false");
  EXPECT_EQ(warp.truth("P5"), "true");
  EXPECT_EQ(warp.run("P2R R10, PR, R3, 0x6").word("R10"), "0xff04");
  EXPECT_EQ(warp.run("PLOP3.LUT P1, PT, P0, P2, PT, 0x2a, 0x0").truth("P1"), "false");
  EXPECT_EQ(warp.run("PLOP3.LUT P1, PT, P0, P3, P2, 0xe0, 0x0").truth("P1"), "true");
  EXPECT_EQ(warp.run("SEL R10, R2, R3, !P0").word("R10"), "0xff00");
}

TEST(Operations, KnowWhereAThreadIs) {
  TestWarp warp;  // the second warp of block (3, 2, 1)
  EXPECT_EQ(warp.run("S2R R10, SR_TID.X").word("R10"), "0x25");
  EXPECT_EQ(warp.run("S2R R10, SR_TID.Y").word("R10"), "0x0");
  EXPECT_EQ(warp.run("S2R R10, SR_CTAID.Z").word("R10"), "0x1");
  EXPECT_EQ(warp.run("S2R R10, SR_LANEID").word("R10"), "0x5");
  EXPECT_EQ(warp.run("S2R R10, SR_CLOCKLO").word("R10"), "?");
  EXPECT_EQ(warp.run("CS2R R10, SRZ").word("R11"), "0x0");
}

TEST(Operations, ReadTheLaunchsConstants) {
  TestWarp warp({0x11223344, 0x55667788, 0x99});
  EXPECT_EQ(warp.run("MOV R10, c[0x0][0x160]").word("R10"), "0x11223344");
  EXPECT_EQ(warp.run("MOV R10, c[0x0][0x0]").word("R10"), "0x40");  // threads of a block
  EXPECT_EQ(warp.run("MOV R10, c[0x0][0xc]").word("R10"), "0x4");   // blocks of the grid
  EXPECT_EQ(warp.run("LDC.U8 R10, c[0x0][0x162]").word("R10"), "0x22");
  EXPECT_EQ(warp.with({4}).run("LDC R10, c[0x0][R2+0x160]").word("R10"), "0x55667788");
  EXPECT_EQ(warp.run("LDC.64 R10, c[0x0][R2+0x160]").word("R11"), "0x99");
  EXPECT_EQ(warp.run("IMAD.WIDE.U32 R10, RZ, RZ, c[0x0][0x160]").word("R11"), "0x55667788");
  EXPECT_EQ(warp.run("MOV R10, c[0x0][0x200]").word("R10"), "?");
  EXPECT_EQ(warp.run("MOV R10, c[0x3][0x0]").word("R10"), "?");
}

TEST(Operations, ExchangeWordsOfKnownLanes) {
  TestWarp warp;
  warp.run("S2R R2, SR_LANEID");
  EXPECT_EQ(warp.run("SHFL.BFLY PT, R10, R2, 0x2, 0x1f").word("R10"), "0x7");
  EXPECT_EQ(warp.run("SHFL.IDX PT, R10, R2, RZ, 0x1f").word("R10"), "0x0");
  EXPECT_EQ(warp.run("SHFL.UP P0, R10, R2, 0x6, RZ").word("R10"), "0x5");
  EXPECT_EQ(warp.truth("P0"), "false");
  EXPECT_EQ(warp.run("SHFL.DOWN PT, R10, R2, 0x1, 0x1f").word("R10"), "0x6");
  warp.run("LDG.E.SYS R3, [R4]");
  EXPECT_EQ(warp.run("SHFL.IDX PT, R10, R3, RZ, 0x1f").word("R10"), "?");
  warp.run("ISETP.GE.AND P0, PT, R2, 0x1e, PT");
  EXPECT_EQ(warp.run("VOTE.ANY R10, P1, P0").word("R10"), "0xc0000000");
  EXPECT_EQ(warp.truth("P1"), "true");
  EXPECT_EQ(warp.run("VOTE.ALL P1, P0").truth("P1"), "false");
}

TEST(Operations, KeepSpilledRegisters) {
  TestWarp warp;
  warp.run("MOV R1, c[0x0][0x28]").with({7, 8});
  warp.run("STL.64 [R1+-0x10], R2").run("LDL.LU.64 R10, [R1+-0x10]");
  EXPECT_EQ(warp.word("R10"), "0x7");
  EXPECT_EQ(warp.word("R11"), "0x8");
  EXPECT_EQ(warp.run("LDL R10, [R1+-0x8]").word("R10"), "?");
}

TEST(Operations, KnowWhatABlockWroteDownOnce) {
  TestWarp warp;
  warp.with({7, 8, 9, 10}).run("S2R R8, SR_LANEID").run("ISETP.NE.AND P0, PT, R8, 0x5, PT");
  warp.run("@!P0 STS.128 [RZ], R2").run("LDS.U.128 R10, [RZ]");
  EXPECT_EQ(warp.word("R12"), "0x9");
  warp.run("STS [RZ+0x8], R9").run("LDS.U.128 R10, [RZ]");  // R9 is not known
  EXPECT_EQ(warp.word("R11"), "0x8");
  EXPECT_EQ(warp.word("R12"), "?");
  EXPECT_EQ(warp.run("STS [RZ+0x8], R4").run("LDS R10, [RZ+0x8]").word("R10"), "?");
}

TEST(Operations, LeaveUnknownWhatMemoryDecides) {
  TestWarp warp;
  warp.with({1, 2}).run("LDG.E.64.SYS R10, [R2]");
  EXPECT_EQ(warp.word("R10"), "?");
  EXPECT_EQ(warp.run("LOP3.LUT R12, R10, R2, RZ, 0xcc, !PT").word("R12"), "0x1");  // R2 alone
  EXPECT_EQ(warp.run("IADD3 R12, R10, R2, RZ").word("R12"), "?");
  warp.run("ISETP.GE.AND P0, PT, R10, RZ, PT");
  EXPECT_EQ(warp.truth("P0"), "?");
  EXPECT_EQ(warp.run("PLOP3.LUT P1, PT, P0, !PT, PT, 0x80, 0x0").truth("P1"), "false");
  EXPECT_EQ(warp.run("SEL R12, R2, R2, P0").word("R12"), "0x1");
  EXPECT_EQ(warp.run("@P0 MOV R12, R3").word("R12"), "?");
  EXPECT_EQ(warp.run("MOV R12, R3").run("@P0 MOV R12, 0x2").word("R12"), "0x2");
  EXPECT_EQ(warp.run("HMMA.884.F32.F32.STEP0 R2, R4.ROW, R6.COL, RZ").word("R3"), "?");
}

TEST(Operations, ReadWhatTheLaunchKnowsOfMemory) {
  const std::vector<std::uint32_t> words = {10, 11, 12, 13, 14};
  const auto bytes = std::as_bytes(std::span(words));
  TestWarp warp({}, {std::uint64_t{1} << 40 | 0xfffffff8u, {bytes.begin(), bytes.end()}});
  warp.with({0xfffffffc, 0x100});
  EXPECT_EQ(warp.run("LDG.E.SYS R10, [R2]").word("R10"), "0xb");
  EXPECT_EQ(warp.run("LDG.E.SYS R10, [R2+-0x4]").word("R10"), "0xa");
  EXPECT_EQ(warp.run("LDG.E.128.SYS R10, [R2+0x4]").word("R12"), "0xe");  // past 2^32
  EXPECT_EQ(warp.word("R13"), "?");
  EXPECT_EQ(warp.run("LDG.E.SYS R10, [R2+-0x8]").word("R10"), "?");
  EXPECT_EQ(warp.run("LDG.E.U8.SYS R10, [R2]").word("R10"), "?");
  EXPECT_EQ(warp.run("LDG.E.64.SYS R2, [R2]").word("R3"), "0xc");
  EXPECT_EQ(warp.run("LDG.E.SYS R10, [R2]").word("R10"), "?");
}

TEST(Operations, CountBankConflictsOfKnownAddresses) {
  TestWarp warp;
  warp.run("S2R R2, SR_LANEID").run("IMAD.SHL.U32 R3, R2, 0x8, RZ").run("LDS R10, [R3]");
  EXPECT_EQ(warp.state().shared_accesses().wavefronts, 2u);
  EXPECT_EQ(warp.state().shared_accesses().conflicts, 1u);
  warp.run("LDG.E.SYS R20, [R4]");
  warp.run("LDS R10, [R3+0x4]").run("STS.64 [R3], R4").run("LDS R12, [R20]");
  EXPECT_EQ(warp.state().shared_accesses().instructions, 4u);
  EXPECT_EQ(warp.state().shared_accesses().conflicts, 2u);
  EXPECT_EQ(warp.state().shared_accesses().unknown, 1u);
}

}  // namespace
}  // namespace sparkbench
