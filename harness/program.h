// The program as a function, so that tests can call it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sparkbench {

/// Runs `sparkbench argv[1..]` and returns the exit status (exit_code.h). Results go to `out`,
/// everything else to `err`. Throws nothing.
int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err);

}  // namespace sparkbench
