// The terminal behind a stream, if there is one.
#pragma once

#include <iosfwd>
#include <optional>

namespace sparkbench {

/// The descriptor of the terminal behind std::cout or std::cerr; none for other streams.
std::optional<int> terminal_of(const std::ostream& stream);

/// Characters per line of the stream's terminal; none without one, or if unknown.
std::optional<int> terminal_width(const std::ostream& stream);

/// Whether to use colour: the stream is a terminal, TERM is not "dumb", and NO_COLOR is unset or
/// empty.
bool has_terminal_color(const std::ostream& stream);

}  // namespace sparkbench
