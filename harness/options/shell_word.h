// Lines that can be pasted into a shell.
#pragma once

#include <string>

namespace sparkbench {

/// `text` as one word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace sparkbench
