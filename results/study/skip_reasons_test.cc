#include "results/study/skip_reasons.h"

#include <gtest/gtest.h>

#include <utility>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord skipped(const char* code, const char* message) {
  CaseRecord record = sample_emulated_case();
  record.status = Status::kSkipped;
  record.reason = Reason{code, message};
  return record;
}

TEST(SkipReasons, AreCountedTheMostFrequentFirst) {
  CaseRecord incorrect = skipped("E-INCORRECT", "wrong");
  incorrect.status = Status::kIncorrect;
  CaseRecord unexplained = skipped("", "");
  unexplained.reason.reset();
  const std::vector<CaseRecord> cases = {skipped("E-A", "x"), skipped("E-B", "x"),
                                         incorrect,           skipped("E-B", "x"),
                                         unexplained,         skipped("E-A", "y")};
  std::vector<const CaseRecord*> pointers;
  for (const CaseRecord& record : cases) pointers.push_back(&record);
  std::vector<std::pair<std::string, int>> found;
  for (const SkipReason& reason : skip_reasons(pointers)) {
    found.emplace_back(reason.code + " " + reason.message, reason.count);
  }
  EXPECT_EQ(found,
            (std::vector<std::pair<std::string, int>>{{"E-B x", 2}, {"E-A x", 1}, {"E-A y", 1}}));
}

}  // namespace
}  // namespace sparkbench
