#include "results/study/case_filter.h"

#include <gtest/gtest.h>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::vector<std::string> ids_where(const std::vector<std::string>& conditions) {
  std::vector<std::string> ids;
  for (const CaseRecord& record : cases_where(conditions, sample_run().cases)) {
    ids.push_back(record.kernel + " " + std::to_string(record.problem.seqlen_q));
  }
  return ids;
}

std::string refusal_of(const std::vector<std::string>& conditions) {
  return message_of<UsageError>([&] { cases_where(conditions, sample_run().cases); });
}

using Ids = std::vector<std::string>;

TEST(CasesWhere, HaveAValueOfEveryCondition) {
  EXPECT_EQ(ids_where({"mask=causal"}),
            Ids({"volta-fp32acc 200", "volta-fp16acc 200", "unfused-fp16 200"}));
  EXPECT_EQ(ids_where({"mask=causal", "kernel=volta-*"}),
            Ids({"volta-fp32acc 200", "volta-fp16acc 200"}));
  EXPECT_EQ(ids_where({"kernel=volta-fp16acc", "seqlen=64,16384"}),
            Ids({"volta-fp16acc 16384", "volta-fp16acc 64"}));
  EXPECT_EQ(ids_where({"status=failed"}), Ids({"volta-fp16acc 256"}));
  EXPECT_EQ(ids_where({}).size(), 9u);
}

TEST(CasesWhere, KnowAnAxisByItsNameItsHeadingAndItsFlag) {
  for (const char* const name : {"dropout_p", "dropout"}) {
    EXPECT_EQ(ids_where({std::string(name) + "=0.1"}).size(), 9u) << name;
  }
  for (const char* const name : {"head_dim", "headdim"}) {
    EXPECT_EQ(ids_where({std::string(name) + "=64"}).size(), 9u) << name;
  }
  EXPECT_EQ(choosing_axis("--by", "seqlen"), "seqlen_q");
}

TEST(CasesWhere, RefuseWhatIsNoConditionAndNoAxis) {
  EXPECT_EQ(refusal_of({"causal"}).substr(0, 39), "--where: 'causal' is not AXIS=VALUE; al");
  EXPECT_EQ(refusal_of({"=causal"}).substr(0, 40), "--where: '=causal' is not AXIS=VALUE; al");
  EXPECT_EQ(refusal_of({"mask="}).substr(0, 38), "--where: 'mask=' is not AXIS=VALUE; al");
  EXPECT_EQ(refusal_of({"maskk=full"}).substr(0, 53),
            "--where: unknown 'maskk', did you mean 'mask'?; allow");
}

TEST(CasesWhere, AskAfterTheNamesOfFlagsToo) {
  EXPECT_EQ(refusal_of({"seqln=64"}).substr(0, 53),
            "--where: unknown 'seqln', did you mean 'seqlen'?; all");
}

TEST(CasesWhere, SayWhatTheRunHas) {
  EXPECT_EQ(refusal_of({"mask=window:9"}),
            "--where: no case has mask=window:9; the run has full, causal");
  EXPECT_EQ(refusal_of({"mask=casual"}),
            "--where: no case has mask=casual, did you mean 'causal'?; the run has full, causal");
  EXPECT_EQ(refusal_of({"mask=causal", "status=failed"}),
            "--where: no case has all of mask=causal, status=failed");
}

TEST(CasesWhere, TakeOneValueWithCommasWhole) {
  std::vector<CaseRecord> cases = {sample_emulated_case(), sample_emulated_case()};
  cases[1].kernel = "a,b";
  EXPECT_EQ(cases_where({"kernel=a,b"}, cases).size(), 1u);
}

TEST(CaseGroups, ComeInTheOrderOfTheirFirstCases) {
  const std::vector<CaseGroup> groups = groups_by("mask", sample_run().cases);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].value, "full");
  EXPECT_EQ(groups[0].cases.size(), 6u);
  EXPECT_EQ(groups[1].value, "causal");
  EXPECT_EQ(groups[1].cases.size(), 3u);
}

TEST(CaseGroups, AreOneWhereTheAxisHasNoValue) {
  EXPECT_EQ(groups_by("lengths", sample_run().cases).size(), 1u);
  EXPECT_EQ(groups_by("lengths", sample_run().cases).front().value, "");
}

}  // namespace
}  // namespace sparkbench
