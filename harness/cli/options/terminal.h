// The terminal behind a stream, if there is one.
#pragma once

#include <iosfwd>
#include <optional>

namespace sparkbench {

/// The descriptor of a terminal that std::cout or std::cerr writes to; none of other streams.
std::optional<int> terminal_of(const std::ostream& stream);

/// Characters of a line of the stream's terminal; none without one, or if it does not say.
std::optional<int> terminal_width(const std::ostream& stream);

/// Whether to colour what is written there: it is a terminal, TERM is not "dumb", and NO_COLOR is
/// not set, or empty.
bool has_terminal_color(const std::ostream& stream);

}  // namespace sparkbench
