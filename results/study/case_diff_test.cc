#include "results/study/case_diff.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord case_of(Status status) {
  CaseRecord record = sample_timed_case();
  record.status = status;
  return record;
}

const CaseRecord kOk = case_of(Status::kOk), kIncorrect = case_of(Status::kIncorrect),
                 kSkipped = case_of(Status::kSkipped), kFailed = case_of(Status::kFailed);

/// The only verdict.
Verdict verdict_of(const CaseRecord* first, const CaseRecord* second) {
  const CaseDiff diff = diff_case({first, 10}, {second, 10}, {});
  EXPECT_EQ(diff.findings.size(), 1u);
  return diff.findings.at(0).verdict;
}

TEST(CaseDiff, IsFailedOrIncorrectWhateverTheFirstWas) {
  for (const CaseRecord* const first : {&kOk, &kIncorrect, &kSkipped, &kFailed}) {
    EXPECT_EQ(verdict_of(first, &kFailed), Verdict::kFailed);
    EXPECT_EQ(verdict_of(first, &kIncorrect), Verdict::kIncorrect);
  }
  EXPECT_EQ(verdict_of(nullptr, &kFailed), Verdict::kFailed);
  EXPECT_EQ(verdict_of(nullptr, &kIncorrect), Verdict::kIncorrect);
}

TEST(CaseDiff, IsMissingWhenItIsGone) {
  EXPECT_EQ(verdict_of(&kOk, nullptr), Verdict::kMissing);
  EXPECT_EQ(verdict_of(&kSkipped, nullptr), Verdict::kMissing);
  EXPECT_EQ(verdict_of(&kOk, &kSkipped), Verdict::kMissing);
  EXPECT_EQ(verdict_of(&kSkipped, &kSkipped), Verdict::kSame);
}

TEST(CaseDiff, ComparesWhatWasNotVerifiedByItsTime) {
  const CaseRecord unverified = case_of(Status::kUnverified),
                   predicted = case_of(Status::kPredicted);
  const Verdict of_time = verdict_of(&kOk, &kOk);
  EXPECT_EQ(verdict_of(&unverified, &unverified), of_time);
  EXPECT_EQ(verdict_of(&unverified, &kOk), of_time);
  DiffRules rules;
  EXPECT_TRUE(diff_case({&kOk, 10}, {&unverified, 10}, rules).has(Verdict::kMissing));
  EXPECT_FALSE(diff_case({&unverified, 10}, {&unverified, 10}, rules).has(Verdict::kMissing));
  rules.by_time_alone = true;
  EXPECT_FALSE(diff_case({&kOk, 10}, {&unverified, 10}, rules).has(Verdict::kMissing));
  EXPECT_EQ(verdict_of(&predicted, &kOk), Verdict::kNew);
  EXPECT_EQ(verdict_of(&unverified, &predicted), Verdict::kMissing);
  EXPECT_EQ(verdict_of(&kSkipped, &predicted), Verdict::kSame);
}

TEST(CaseDiff, IsNewWithoutAFirstResult) {
  EXPECT_EQ(verdict_of(nullptr, &kOk), Verdict::kNew);
  EXPECT_EQ(verdict_of(&kFailed, &kOk), Verdict::kNew);
  EXPECT_EQ(verdict_of(&kIncorrect, &kOk), Verdict::kNew);
}

TEST(CaseDiff, SaysWhy) {
  CaseRecord failed = kFailed;
  failed.reason = Reason{"E-LAUNCH", "misaligned address"};
  EXPECT_EQ(diff_case({&kOk, 10}, {&failed, 10}, {}).findings.at(0).why,
            "E-LAUNCH: misaligned address");
  failed.reason.reset();
  EXPECT_EQ(diff_case({&kOk, 10}, {&failed, 10}, {}).findings.at(0).why, "no reason is given");
}

TEST(CaseDiff, HasEveryVerdictTheWorstFirst) {
  CaseRecord first = kOk, second = kOk;
  first.time_ms->samples = {1, 1, 1};
  second.time_ms->samples = {2, 2, 2};
  first.clock_mhz->samples = second.clock_mhz->samples = {1500, 1500, 1500};
  second.accuracy->rel_l2 *= 2;
  second.accuracy->output_hash = "0123456789abcdef";
  const CaseDiff diff = diff_case({&first, 10}, {&second, 10}, {});
  std::vector<Verdict> verdicts;
  for (const CaseFinding& finding : diff.findings) verdicts.push_back(finding.verdict);
  EXPECT_EQ(verdicts, std::vector<Verdict>({Verdict::kWorse, Verdict::kSlow, Verdict::kBits}));
  EXPECT_EQ(diff.id, second.id);
  EXPECT_EQ(diff.repro, second.repro);
}

TEST(CaseDiff, OfEqualsIsTheSame) {
  CaseRecord quiet = kOk;
  quiet.time_ms->samples = {1, 1, 1};
  quiet.clock_mhz->samples = {1500, 1500, 1500};
  EXPECT_EQ(verdict_of(&quiet, &quiet), Verdict::kSame);
}

TEST(CaseDiff, NamesItsVerdictsInOrder) {
  const std::vector<Verdict> verdicts = all_verdicts();
  ASSERT_EQ(verdicts.size(), static_cast<std::size_t>(Verdict::kSame) + 1);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    EXPECT_EQ(verdicts[i], static_cast<Verdict>(i));
    EXPECT_FALSE(name_of(verdicts[i]).empty());
  }
  EXPECT_EQ(name_of(Verdict::kSame), "same");
}

}  // namespace
}  // namespace sparkbench
