// For tests: what errors and outputs say.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// The message of the Error that `call` throws; "" where it throws none.
template <class Error, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace sparkbench
