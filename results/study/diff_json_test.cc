#include "results/study/diff_json.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"
#include "results/store/output_file.h"
#include "results/store/schema_check.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

std::string json_of_diff(const RunRecord& first, const RunRecord& second) {
  return diff_to_json(first, second, diff_runs(first, second, {}), {"slow"}, 1);
}

TEST(DiffJson, FollowsItsSchema) {
  RunRecord first = sample_run(), second = sample_run();
  first.cases.push_back(sample_timed_case());
  second.cases.push_back(sample_timed_case());
  first.cases.back().status = second.cases.back().status = Status::kOk;
  second.build.git_sha = "abc";
  second.cases.erase(second.cases.begin());
  const std::string schema = text_of_file(SPARKBENCH_DIFF_SCHEMA);
  EXPECT_EQ(schema_violations(schema, json_of_diff(first, second)), std::vector<std::string>());
  EXPECT_NE(schema_violations(schema, "{}"), std::vector<std::string>());
}

TEST(DiffJson, SaysWhatWasFoundAndWhatNext) {
  RunRecord second = sample_run();
  second.cases[0].accuracy->rel_l2 *= 2;
  const std::string text = json_of_diff(sample_run(), second);
  for (const char* const part : {"\"verdict\": \"worse\"", "\"error_ratio\": 2.0",
                                 "\"next_step\": \"run it alone", "\"exit_code\": 1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

}  // namespace
}  // namespace sparkbench
