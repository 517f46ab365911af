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

/// End of the first line of a text that does not fit.
std::size_t end_of_line(std::string_view text, int room) {
  const std::size_t most = bytes_of(text, room);
  const std::size_t space = text.substr(0, most + 1).rfind(' ');
  const std::size_t mark = text.substr(0, most).find_last_of("/,:+_");
  const std::size_t behind_mark = mark == std::string_view::npos ? 0 : mark + 1;
  const std::size_t before_space = space == std::string_view::npos ? 0 : space;
  // Prefers a break at a space, unless that leaves most of the line empty.
  const std::size_t end =
      before_space > most / 2 ? before_space : std::max(before_space, behind_mark);
  return end == 0 ? std::max<std::size_t>(1, most) : end;
}

}  // namespace

int characters_in(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(),
                                        [](char byte) { return !continues_character(byte); }));
}

std::vector<std::string> broken(std::string_view text, int room, int indent) {
  std::vector<std::string> lines;
  while (true) {
    const bool is_first = lines.empty();
    const std::string before(is_first ? 0 : static_cast<std::size_t>(indent), ' ');
    const int left = std::max(1, room - (is_first ? 0 : indent));
    if (characters_in(text) <= left) {
      lines.push_back(before + std::string(text));
      return lines;
    }
    const std::size_t end = end_of_line(text, left);
    lines.push_back(before + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return lines;
  }
}

}  // namespace sparkbench
