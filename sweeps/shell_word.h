// Lines that can be pasted into a shell.
#pragma once

#include <string>

namespace sparkbench {

/// `text` as one word of a POSIX shell, in quotes.
std::string shell_word(const std::string& text);

/// The same, without quotes where it needs none.
std::string plain_or_shell_word(const std::string& text);

}  // namespace sparkbench
