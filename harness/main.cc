#include <iostream>
#include <string>
#include <vector>

#include "harness/cli/program.h"
#include "harness/cli/standard_streams.h"

int main(int argc, char** argv) {
  sparkbench::open_missing_standard_streams();
  // The running program itself, even if its file has been replaced.
  return sparkbench::run_program(std::vector<std::string>(argv, argv + argc), std::cout, std::cerr,
                                 {.worker_executable = "/proc/self/exe", .before_case = {}});
}
