// main() of every test program. One program holds the tests of a room; CTest runs them file by
// file:
//   kernels_tests --file=kernels/volta/forward_test.cc [GoogleTest's flags but --gtest_filter]

#include <cstdio>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace {

// "Suite.Test:Suite.Other" of all tests that `file` defines; empty where there are none.
std::string tests_of(std::string_view file) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite) {
    const testing::TestSuite& tests = *all.GetTestSuite(suite);
    for (int index = 0; index < tests.total_test_count(); ++index) {
      const testing::TestInfo& test = *tests.GetTestInfo(index);
      if (!std::string_view(test.file()).ends_with(file)) continue;
      filter += std::string(tests.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFlag = "--file=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kFlag)) {
    const std::string_view file = std::string_view(argv[1]).substr(kFlag.size());
    const std::string filter = tests_of(file);
    if (filter.empty()) {
      std::fprintf(stderr, "%s defines no test of this program\n", argv[1] + kFlag.size());
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
