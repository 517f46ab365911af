// For tests: the program, run in this process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "harness/cli/program.h"
#include "kernels/testing/messages.h"
#include "results/store/test_folder.h"

namespace sparkbench {

struct ProgramResult {
  int exit_code;
  std::string out, err;
};

/// Runs `sparkbench` with the space-separated arguments.
inline ProgramResult run_sparkbench(const std::string& arguments) {
  std::istringstream words(arguments);
  std::vector<std::string> argv = {"sparkbench"};
  argv.insert(argv.end(), std::istream_iterator<std::string>(words), {});
  std::ostringstream out, err;
  const int exit_code = run_program(argv, out, err);
  return {exit_code, out.str(), err.str()};
}

inline std::string path_in(const TemporaryFolder& folder, const std::string& name) {
  return (folder.path() / name).string();
}

/// One line that starts with the program's name and has `says` in it, on the error stream alone.
inline void expect_refused(const ProgramResult& result, int exit_code, const std::string& says) {
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.rfind("sparkbench: ", 0), 0u) << result.err;
  EXPECT_TRUE(contains(result.err, says)) << says << "\nis not in\n" << result.err;
}

}  // namespace sparkbench
