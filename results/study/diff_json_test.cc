#include "results/study/diff_json.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::string json_of_diff(const RunRecord& first, const RunRecord& second) {
  return diff_to_json(first, second, diff_runs(first, second, {}), {"slow"}, 1);
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
