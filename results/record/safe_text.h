// Makes text from outside safe for a terminal, a table's line, or a UTF-8 file.
#pragma once

#include <string>
#include <string_view>

namespace sparkbench {

/// Whether all of it is valid UTF-8 by RFC 3629: no surrogates, no overlong sequences.
bool is_utf8(std::string_view text);

/// Replaces each invalid byte by U+FFFD.
std::string repaired_utf8(std::string_view text);

/// Repaired, with control characters except newlines and tabs replaced by '?'.
std::string printable(std::string_view text);

/// Printable, with newlines and tabs replaced by spaces.
std::string one_line(std::string_view text);

/// Text that shows literally in a markdown file: it starts no HTML, link, code or table cell.
std::string markdown_text(std::string_view text);

/// Text for a CSV cell that a spreadsheet shows and does not compute: printable, with a leading
/// apostrophe if it begins like a formula (OWASP, "CSV Injection").
std::string csv_text(std::string_view text);

/// Shortens a long message but keeps its end: the middle is replaced by the number of its bytes.
std::string bounded(std::string text);

/// Whether a shell would run `text` as one simple command: no shell syntax outside single quotes,
/// and no control characters anywhere.
bool is_plain_command(std::string_view text);

}  // namespace sparkbench
