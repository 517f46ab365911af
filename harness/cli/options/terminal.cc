#include "harness/cli/options/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace sparkbench {

std::optional<int> terminal_of(const std::ostream& stream) {
  const int descriptor = &stream == &std::cout   ? STDOUT_FILENO
                         : &stream == &std::cerr ? STDERR_FILENO
                                                 : -1;
  if (descriptor < 0 || ::isatty(descriptor) != 1) return std::nullopt;
  return descriptor;
}

std::optional<int> terminal_width(const std::ostream& stream) {
  const std::optional<int> terminal = terminal_of(stream);
  winsize size{};
  if (!terminal || ::ioctl(*terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return size.ws_col;
}

bool has_terminal_color(const std::ostream& stream) {
  const auto value_of = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return terminal_of(stream).has_value() && value_of("TERM") != "dumb" &&
         value_of("NO_COLOR").empty();
}

}  // namespace sparkbench
