// The machine lacks what the command needs.
#pragma once

#include <stdexcept>

namespace sparkbench {

/// One line: what is missing and what there is. Exit code 3.
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sparkbench
