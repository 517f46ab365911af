#include <iostream>
#include <string>
#include <vector>

#include "harness/cli/standard_streams.h"
#include "harness/model/tool/model_program.h"

int main(int argc, char** argv) {
  sparkbench::open_missing_standard_streams();
  return sparkbench::run_model_program(std::vector<std::string>(argv, argv + argc), std::cout,
                                       std::cerr);
}
