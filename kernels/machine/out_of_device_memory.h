// An allocation that failed on a GPU. C++17 and no CUDA header: whoever runs cases catches it.
#pragma once

#include <stdexcept>

namespace sparkbench {

/// One line: the call that failed, and where.
struct OutOfDeviceMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sparkbench
