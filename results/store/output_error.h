// A result could not be written.
#pragma once

#include <stdexcept>

namespace sparkbench {

/// One line: the path or flag, what went wrong, and a remedy. Exit code 5.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sparkbench
