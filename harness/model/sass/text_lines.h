// Cutting up what a tool printed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The parts between separators, trimmed; nothing for an empty text.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Calls visit(line) for each line of `text`.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// What follows `prefix` in a line that begins with it, trimmed; nothing in any other.
inline std::string_view after_prefix(std::string_view line, std::string_view prefix) {
  const std::string_view text = trimmed(line);
  return text.starts_with(prefix) ? trimmed(text.substr(prefix.size())) : std::string_view{};
}

}  // namespace sparkbench
