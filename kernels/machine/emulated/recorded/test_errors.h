// For tests: what an error says.
#pragma once

#include <stdexcept>
#include <string>

namespace sparkbench {

/// The message of the std::runtime_error that `function` throws.
template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace sparkbench
