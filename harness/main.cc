#include <iostream>
#include <string>
#include <vector>

#include "harness/program.h"

int main(int argc, char** argv) {
  return sparkbench::run_program(std::vector<std::string>(argv, argv + argc), std::cout, std::cerr);
}
