#include "results/render/broken_text.h"

#include <algorithm>
#include <cstddef>

namespace sparkbench {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Bytes of the first `room` characters.
std::size_t bytes_of(std::string_view text, int room) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (continues_character(text[end])) continue;
    if (room-- == 0) break;
  }
  return end;
}

/// The last space within the first `most` bytes and the one after them, 0 if there is none.
std::size_t space_within(std::string_view text, std::size_t most) {
  std::size_t space = text.substr(0, most + 1).rfind(' ');
  if (space != std::string_view::npos && text.substr(space).starts_with(" %")) {
    space = text.substr(0, space).rfind(' ');
  }
  return space == std::string_view::npos ? 0 : space;
}

/// End of the first line of a text that does not fit.
std::size_t end_of_line(std::string_view text, int room, Words words) {
  const std::size_t most = bytes_of(text, room);
  const std::size_t space = space_within(text, most);
  if (words == Words::kWhole) return space > 0 ? space : std::min(text.find(' ', 1), text.size());
  const std::size_t mark = text.substr(0, most).find_last_of("/,:+_");
  const std::size_t after_mark = mark == std::string_view::npos ? 0 : mark + 1;
  // Prefers a break at a space, unless that leaves most of the line empty.
  const std::size_t end = space > most / 2 ? space : std::max(space, after_mark);
  return end == 0 ? std::max<std::size_t>(1, most) : end;
}

}  // namespace

int characters_in(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(),
                                        [](char byte) { return !continues_character(byte); }));
}

std::vector<std::string> broken(std::string_view text, int room, int indent, Words words) {
  std::vector<std::string> lines;
  while (true) {
    const bool is_first = lines.empty();
    const std::string before(is_first ? 0 : static_cast<std::size_t>(indent), ' ');
    const int left = std::max(1, room - (is_first ? 0 : indent));
    if (characters_in(text) <= left) {
      lines.push_back(before + std::string(text));
      return lines;
    }
    const std::size_t end = end_of_line(text, left, words);
    lines.push_back(before + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return lines;
  }
}

}  // namespace sparkbench
