#include "sweeps/shell_word.h"

#include <algorithm>
#include <string_view>

namespace sparkbench {

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char character : text) {
    if (character == '\'') {
      word += "'\\''";
    } else {
      word += character;
    }
  }
  return word + "'";
}

std::string plain_or_shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "_-+=.,:/@%";
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPlain.find(c) != std::string_view::npos;
  });
  return is_plain ? text : shell_word(text);
}

}  // namespace sparkbench
