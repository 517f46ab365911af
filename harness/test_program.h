// For tests: the program run in this process, and a folder to write into.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "harness/program.h"

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

/// An empty folder of one test, deleted with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("sparkbench_") + test->test_suite_name() + "_" + test->name() + "_" +
             std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  bool is_empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace sparkbench
