// Errors in the user's input.
#pragma once

#include <stdexcept>

namespace sparkbench {

/// One line: the flag, what is wrong with its value, and what is allowed. Exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sparkbench
