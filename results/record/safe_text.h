// Text that others wrote, made fit for a terminal, a line of a table, a file of UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// Whether all of it is UTF-8, as RFC 3629 has it: no surrogates, nothing overlong.
bool is_utf8(std::string_view text);

/// What is not UTF-8 becomes U+FFFD, a byte each.
std::string repaired_utf8(std::string_view text);

/// Repaired, and without what a terminal obeys: control characters become '?', but for newlines
/// and tabs.
std::string printable(std::string_view text);

/// Printable, and newlines and tabs become spaces.
std::string one_line(std::string_view text);

/// Whether a shell would run `text` as one simple command: outside single quotes it has nothing
/// that a shell obeys, and nowhere a control character.
bool is_plain_command(std::string_view text);

}  // namespace sparkbench
