#include "harness/model/sass/sass_listing.h"

#include <gtest/gtest.h>

#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

using Words = std::vector<std::string>;

TEST(SassListing, GivesEveryInstructionOfARecordedKernelOnce) {
  const auto functions = parse_sass_listing(recorded_listing("sass"));
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].sm, 70);
  EXPECT_EQ(functions[0].symbol, "volta_fp32acc_fwd_d64");
  ASSERT_EQ(functions[0].instructions.size(), 80u);
  for (std::size_t i = 0; i < 80; ++i) EXPECT_EQ(functions[0].instructions[i].address, 16 * i);
}

TEST(SassListing, TakesAnInstructionApart) {
  const auto hmma = parse_sass_listing(recorded_listing("sass"))[0].instructions[0x1d0 / 16];
  EXPECT_EQ(hmma.opcode, "HMMA");
  EXPECT_EQ(hmma.modifiers, (Words{"884", "F32", "F32", "STEP1"}));
  EXPECT_EQ(hmma.operands, (Words{"R14", "R16.reuse.ROW", "R18.reuse.COL", "RZ"}));
  EXPECT_FALSE(hmma.is_conditional());
  EXPECT_FALSE(hmma.target);
  EXPECT_TRUE(hmma.has_modifier("884"));
  EXPECT_FALSE(hmma.has_modifier("F16"));
}

TEST(SassListing, KnowsPredicatesAndWhereBranchesGo) {
  const SassInstruction branch = instruction_of("@!P0 BRA 0x410");
  EXPECT_EQ(branch.predicate, "!P0");
  EXPECT_TRUE(branch.is_conditional());
  EXPECT_EQ(branch.target, 0x410u);
  EXPECT_EQ(instruction_of("BRA 0x4e0").target, 0x4e0u);
  EXPECT_FALSE(instruction_of("BSSY B0, 0x500").target);
  EXPECT_FALSE(instruction_of("CALL.REL.NOINC 0x500").target);
  EXPECT_TRUE(instruction_of("@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ").is_never_executed());
}

TEST(SassListing, TellsFunctionsAndArchitecturesApart) {
  const auto functions = parse_sass_listing(
      "\tcode for sm_70\n\t\tFunction : a\n /*0000*/ EXIT ;\n\t\tFunction : b\n"
      "\tcode for sm_75\n\t\tFunction : a\n /*0000*/ NOP; /* 0x00 */\n /*0010*/ EXIT ;\n");
  ASSERT_EQ(functions.size(), 3u);
  EXPECT_EQ(functions[0].sm, 70);
  EXPECT_EQ(functions[1].instructions.size(), 0u);
  EXPECT_EQ(functions[2].sm, 75);
  EXPECT_EQ(functions[2].symbol, "a");
  EXPECT_EQ(functions[2].instructions.size(), 2u);
}

TEST(SassListing, ReadsControlBitsOfTheEncoding) {
  const auto code = parse_sass_listing(recorded_listing("sass"))[0].instructions;
  EXPECT_EQ(code[0].control, 0x7e2u);  // stall 2, no scoreboard, prefers another warp
  for (const SassInstruction& instruction : code) EXPECT_TRUE(instruction.control);
  EXPECT_FALSE(instruction_of("EXIT").control);
}

TEST(SassListing, IsWrittenAsItWasRead) {
  for (const std::string text :
       {"@!P0 BRA 0x410", "HMMA.884.F32.F32.STEP1 R14, R16.reuse.ROW, R18.COL, RZ", "EXIT"}) {
    EXPECT_EQ(text_of(instruction_of(text)), text);
  }
}

TEST(SassListing, ReadsLabelsOfNvdisasm) {
  const auto functions = parse_sass_listing(
      "\t.headerflags\t@\"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM70 X(EF_CUDA_SM75)\"\n.text._Z1kPfi:\n "
      "/*0000*/ NOP ; /* 0x0000000000007918 */\n"
      " /* 0x000fc00000000000 */\n.L_x_1:\n /*0010*/ EXIT ;\n"
      " /*0020*/ @P0 BRA `(.L_x_1) ;\n /*0030*/ BRA `(.L_x_2);\n");
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].sm, 70);
  EXPECT_EQ(functions[0].symbol, "_Z1kPfi");
  EXPECT_EQ(functions[0].instructions[0].control, 0x7e0u);
  EXPECT_EQ(functions[0].instructions[2].target, 0x10u);
  EXPECT_FALSE(functions[0].instructions[3].target);
}

TEST(SassListing, OfNothingIsEmpty) {
  EXPECT_TRUE(parse_sass_listing("").empty());
  EXPECT_TRUE(parse_sass_listing("/*0000*/ EXIT ;\n").empty());
}

}  // namespace
}  // namespace sparkbench
