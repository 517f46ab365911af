#include "harness/options/shell_word.h"

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

}  // namespace sparkbench
