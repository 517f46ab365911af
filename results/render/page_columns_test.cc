#include "results/render/page_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::vector<std::string> names_of(const std::vector<PageColumn>& columns, bool are_shown) {
  std::vector<std::string> names;
  for (const PageColumn& each : columns) {
    if (each.is_shown || !are_shown) names.push_back(each.column->name);
  }
  return names;
}

std::ptrdiff_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) - names.begin();
}

std::vector<CaseRecord> two_timed_cases() {
  std::vector<CaseRecord> cases = {sample_timed_case(), sample_timed_case()};
  cases[1].kernel = "cudnn";
  cases[1].tflops = 2.0 * *cases[0].tflops;
  return cases;
}

TEST(PageColumns, HaveWhatIsLookedForFirstBeforeTheRest) {
  const std::vector<std::string> names = names_of(page_columns(two_timed_cases()), false);
  EXPECT_EQ(names.front(), "kernel");
  for (const char* const first : {"time_ms", "speedup", "memory", "rel_l1", "status"}) {
    for (const char* const later : {"tflops", "noise", "peak", "id"}) {
      EXPECT_LT(index_of(names, first), index_of(names, later)) << first << " " << later;
    }
    EXPECT_LT(index_of(names, "mask"), index_of(names, first)) << first;
  }
}

TEST(PageColumns, ShowAtFirstWhatVariesAndWhatIsLookedFor) {
  const std::vector<std::string> names = names_of(page_columns(two_timed_cases()), true);
  const auto is_shown = [&](const std::string& name) {
    return index_of(names, name) < static_cast<std::ptrdiff_t>(names.size());
  };
  for (const char* const shown : {"kernel", "time_ms", "speedup", "memory", "status", "tflops"}) {
    EXPECT_TRUE(is_shown(shown)) << shown;
  }
  for (const char* const hidden : {"head_dim", "mask", "noise", "peak", "id"}) {
    EXPECT_FALSE(is_shown(hidden)) << hidden;
  }
}

TEST(PageColumns, HaveTitlesOfOneLine) {
  std::map<std::string, std::string> titles;
  for (const PageColumn& each : page_columns(two_timed_cases())) {
    EXPECT_EQ(each.title.find('\n'), std::string::npos) << each.title;
    titles[each.column->name] = each.title;
  }
  EXPECT_EQ(titles["time_ms"], "time ms");
  EXPECT_EQ(titles["tflops"], "TFLOP/s");
}

TEST(PageColumns, FilterByKernelAxesAndStatus) {
  for (const PageColumn& each : page_columns(two_timed_cases())) {
    const std::string& name = each.column->name;
    EXPECT_EQ(each.is_axis, name == "kernel" || name == "model" || name == "status" ||
                                each.column->axis != nullptr)
        << name;
  }
}

}  // namespace
}  // namespace sparkbench
