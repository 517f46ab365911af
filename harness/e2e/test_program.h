// For tests: the program, run in this process.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
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

/// Calls run(argv, out, err) with the program's name and the space-separated arguments.
template <class Run>
ProgramResult run_with_words(const char* program, const std::string& arguments, Run run) {
  std::istringstream words(arguments);
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), std::istream_iterator<std::string>(words), {});
  std::ostringstream out, err;
  const int exit_code = run(argv, out, err);
  return {exit_code, out.str(), err.str()};
}

/// Runs `sparkbench` with the space-separated arguments.
inline ProgramResult run_sparkbench(const std::string& arguments,
                                    const ProgramSettings& settings = {}) {
  return run_with_words("sparkbench", arguments, [&](const auto& argv, auto& out, auto& err) {
    return run_program(argv, out, err, settings);
  });
}

inline std::string path_in(const TemporaryFolder& folder, const std::string& name) {
  return (folder.path() / name).string();
}

/// A pipe without a writer, a file of 4 TiB, a folder, devices without an end, and nothing.
inline std::vector<std::string> unreadable_paths(const TemporaryFolder& folder) {
  const std::string pipe = path_in(folder, "pipe"), huge = path_in(folder, "huge");
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(huge) << "text";
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 42);
  return {
      pipe, huge, folder.path().string(), "/dev/zero", "/proc/self/mem", path_in(folder, "none")};
}

/// One line that starts with the program's name and contains `says`, only on the error stream.
inline void expect_refused(const ProgramResult& result, int exit_code, const std::string& says,
                           const std::string& program = "sparkbench") {
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.rfind(program + ": ", 0), 0u) << result.err;
  EXPECT_TRUE(contains(result.err, says)) << says << "\nis not in\n" << result.err;
}

}  // namespace sparkbench
