#include "results/record/safe_text.h"

#include <algorithm>
#include <cstddef>

namespace sparkbench {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

unsigned byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

/// Length of the sequence that starts with `first`; 0 for an invalid first byte.
std::size_t length_by_first(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/// Whether `second` may follow `first`: excludes overlong sequences, surrogates, and values above
/// U+10FFFF.
bool may_follow(unsigned first, unsigned second) {
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return second >= least && second <= most;
}

/// Length of the first character; 0 if it is invalid.
std::size_t character_length(std::string_view text) {
  const std::size_t length = length_by_first(byte_at(text, 0));
  if (length == 0 || length > text.size()) return 0;
  if (length > 1 && !may_follow(byte_at(text, 0), byte_at(text, 1))) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// C0, DEL, and C1 in UTF-8, where one of them is equivalent to ESC [.
bool is_control(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  return first < 0x20 || first == 0x7f ||
         (character.size() == 2 && first == 0xc2 && byte_at(character, 1) < 0xa0);
}

/// `map` returns the replacement of a character; an invalid byte is passed as "".
template <class Map>
std::string mapped(std::string_view text, Map map) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += map(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  return mapped(text, [](std::string_view each) { return each.empty() ? kReplacement : each; });
}

std::string printable(std::string_view text) {
  return mapped(text, [](std::string_view each) -> std::string_view {
    if (each.empty()) return kReplacement;
    return is_control(each) && each != "\n" && each != "\t" ? "?" : each;
  });
}

std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char character : text) {
    if (character == '<') {
      safe += "&lt;";
    } else if (character == '&') {
      safe += "&amp;";
    } else {
      if (std::string_view("\\`[]|").find(character) != std::string_view::npos) safe += '\\';
      safe += character;
    }
  }
  return safe;
}

std::string csv_text(std::string_view text) {
  constexpr std::string_view kBeginsFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kBeginsFormula.find(text[0]) != std::string_view::npos;
  return (is_formula ? "'" : "") + printable(text);
}

std::string bounded(std::string text) {
  constexpr std::size_t kMostBytes = 2000, kEndBytes = 700, kBeginBytes = kMostBytes - kEndBytes;
  if (text.size() <= kMostBytes) return text;
  const std::string left = std::to_string(text.size() - kMostBytes);
  // A truncated character would not be valid UTF-8.
  return repaired_utf8(text.substr(0, kBeginBytes)) + " ... (" + left + " bytes left out) ... " +
         repaired_utf8(text.substr(text.size() - kEndBytes));
}

bool is_plain_command(std::string_view text) {
  if (one_line(text) != text) return false;
  constexpr std::string_view kObeyed = ";|&<>`$()#!\"\\";
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text.substr(i).starts_with("\\'")) {
      ++i;  // a quote within a word, as shell_word() writes it
    } else if (!is_quoted && kObeyed.find(text[i]) != std::string_view::npos) {
      return false;
    }
  }
  return !is_quoted;
}

}  // namespace sparkbench
