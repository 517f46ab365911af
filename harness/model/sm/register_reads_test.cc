#include "harness/model/sm/timed_code.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

std::vector<bool> conflicts(const std::vector<std::string>& texts) {
  std::vector<CodeLine> lines;
  for (const std::string& text : texts) lines.push_back({"S01", text});
  return register_costs(code_of(lines)).has_bank_conflict;
}

TEST(RegisterReads, ConflictWhereThreeSourcesShareABank) {
  EXPECT_EQ(conflicts({"FFMA R0, R2, R4, R6"}), std::vector{true});
  EXPECT_EQ(conflicts({"FFMA R0, R1, R3, -R5"}), std::vector{true});
  EXPECT_EQ(conflicts({"FFMA R0, R2, R4, R5"}), std::vector{false});
  EXPECT_EQ(conflicts({"FFMA R0, R2, R2, R6"}), std::vector{false});
  EXPECT_EQ(conflicts({"FFMA R0, R2, c[0x0][0x160], R6"}), std::vector{false});
  EXPECT_EQ(conflicts({"FFMA R0, R2, RZ, R6"}), std::vector{false});
  EXPECT_EQ(conflicts({"STS [R2], R4"}), std::vector{false});
}

TEST(RegisterReads, AreSparedByTheReuseCache) {
  EXPECT_EQ(conflicts({"FFMA R0, R2.reuse, R4, R5", "FFMA R0, R2, R4, R6"}),
            (std::vector{false, false}));
  EXPECT_EQ(conflicts({"FFMA R0, R2.reuse, R4, R5", "FFMA R0, R8, R2, R6"}),
            (std::vector{false, true}));
  EXPECT_EQ(conflicts({"FFMA R0, R2.reuse, R4, R5", "EXIT", "FFMA R0, R2, R4, R6"}),
            (std::vector{false, false, true}));
}

TEST(RegisterReads, OfATensorInstructionNeedOneKeptOperand) {
  const RegisterCosts costs =
      register_costs(code_of({{"S01", "HMMA.884.F32.F32.STEP0 R8, R4.reuse.ROW, R6.reuse.COL, R8"},
                              {"S01", "IADD3 R0, R1, R2, R3"},
                              {"S01", "HMMA.884.F32.F32.STEP1 R10, R4.reuse.ROW, R6.COL, R10"},
                              {"S01", "HMMA.884.F32.F32.STEP0 R12, R4.ROW, R16.COL, R12"},
                              {"S01", "HMMA.884.F32.F32.STEP0 R12, R4.ROW, R16.COL, R12"}}));
  EXPECT_EQ(costs.lacks_reuse, (std::vector{true, false, false, false, true}));
}

}  // namespace
}  // namespace sparkbench
