// Lines that can be pasted into a shell.
#pragma once

#include <string>

namespace sparkbench {

/// `text` as one quoted word of a POSIX shell.
std::string shell_word(const std::string& text);

/// The same, with quotes only if they are needed.
std::string plain_or_shell_word(const std::string& text);

}  // namespace sparkbench
