#include "results/render/fact_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "results/record/safe_text.h"
#include "results/render/broken_text.h"

namespace sparkbench {

std::string format_facts(std::span<const Fact> facts, const TableView& view, int name_width) {
  constexpr int kIndent = 2, kDeepIndent = 4, kLeastRoom = 24;
  int width = name_width;
  for (const Fact& fact : facts) width = std::max(width, characters_in(one_line(fact.name)));
  const int begin = kIndent + width + 1;
  const int end = view.width.value_or(0);
  const bool is_narrow = end - begin < kLeastRoom;
  std::string text;
  for (const Fact& fact : facts) {
    const std::string name = one_line(fact.name);
    const std::string space(static_cast<std::size_t>(width - characters_in(name)), ' ');
    std::string line = fmt::format("{:{}}{}{} {}", "", kIndent, name, space, one_line(fact.text));
    line.erase(line.find_last_not_of(' ') + 1);
    const int indent = is_narrow ? kDeepIndent : begin;
    const std::vector<std::string> lines =
        end == 0 ? std::vector<std::string>{line} : broken(line, end, indent);
    text += fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  return text;
}

}  // namespace sparkbench
