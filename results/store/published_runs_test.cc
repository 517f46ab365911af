// Checks that the runs in results/published still read correctly. Some only know full and causal.
#include <gtest/gtest.h>

#include <set>

#include "results/record/case_id.h"
#include "results/store/json.h"
#include "results/store/stored_run.h"
#include "results/study/run_diff.h"

namespace sparkbench {
namespace {

RunRecord published(const std::string& name) {
  return read_stored_run(std::filesystem::path(SPARKBENCH_PUBLISHED) / name);
}

class PublishedRun : public testing::TestWithParam<const char*> {};

TEST_P(PublishedRun, HasTheIdsThatItsProblemsHaveNow) {
  const RunRecord run = published(GetParam());
  ASSERT_FALSE(run.cases.empty());
  std::set<std::string> masks;
  for (const CaseRecord& record : run.cases) {
    EXPECT_EQ(make_case_id(record.kernel, record.problem), record.id);
    masks.insert(name_of(record.problem.mask));
  }
  EXPECT_EQ(masks, std::set<std::string>({"causal", "full"}));
}

TEST_P(PublishedRun, IsTheSameWhenWrittenAndReadAgain) {
  const RunRecord run = published(GetParam());
  const RunRecord copy = run_from_json(run_to_json(run));
  for (const CaseDiff& diff : diff_runs(run, copy, {}).cases) {
    EXPECT_FALSE(diff.has(Verdict::kMissing)) << diff.id;
    EXPECT_FALSE(diff.has(Verdict::kNew)) << diff.id;
  }
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    EXPECT_EQ(copy.cases.at(i).problem.mask, run.cases[i].problem.mask);
    EXPECT_EQ(copy.cases.at(i).problem.own_dropout_p, run.cases[i].problem.own_dropout_p);
  }
}

INSTANTIATE_TEST_SUITE_P(H200, PublishedRun,
                         testing::Values("h200/paper-forward", "h200/paper-backward",
                                         "h200/torch-forward.json", "h200/torch-backward.json"));

TEST(ConfigHash, IsThatOfThePublishedRuns) {
  for (const char* const name : {"h200/paper-forward", "h200/paper-backward"}) {
    const RunRecord run = published(name);
    for (const CaseRecord& record : run.cases) {
      Method method = run.method;
      method.input = record.problem.input.value();
      EXPECT_EQ(make_config_hash(record.id, record.problem.seed, method), record.config_hash)
          << record.id;
    }
  }
}

}  // namespace
}  // namespace sparkbench
