// Thrown by a kernel that finds out only while it prepares a problem that it cannot compute it.
#pragma once

#include <stdexcept>

namespace sparkbench {

/// No failure: the case is skipped, with the message as its reason.
class UnsupportedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sparkbench
