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

/// Text in a markdown file that shows as it is: no HTML, links, code or cells of a table begin in
/// it.
std::string markdown_text(std::string_view text);

/// Text in a cell of a CSV file that a spreadsheet shows and does not compute: printable, and
/// after an apostrophe if it begins as a formula does (OWASP, "CSV Injection").
std::string csv_text(std::string_view text);

/// A message whose reader is to see its end: of a long one the middle is left out, and how much.
std::string bounded(std::string text);

/// Whether a shell would run `text` as one simple command: outside single quotes it has nothing
/// that a shell obeys, and nowhere a control character.
bool is_plain_command(std::string_view text);

}  // namespace sparkbench
