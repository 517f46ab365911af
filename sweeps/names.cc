#include "sweeps/names.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

bool glob_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return glob_matches(pattern.substr(1), name) ||
           (!name.empty() && glob_matches(pattern, name.substr(1)));
  }
  if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
  return glob_matches(pattern.substr(1), name.substr(1));
}

int edit_distance(std::string_view a, std::string_view b) {
  // row[j] is the distance of the first i characters of a to the first j of b.
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string closest_name(std::string_view typed, std::span<const std::string> known) {
  // A third of the characters wrong is a slip; more is another word.
  int nearest = static_cast<int>(typed.size()) / 3 + 1;
  std::string name;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(typed, candidate);
    if (distance < nearest || (distance == nearest && name.empty())) {
      nearest = distance;
      name = candidate;
    }
  }
  return name;
}

std::string unknown_name_message(std::string_view flag, std::string_view typed,
                                 std::span<const std::string> known) {
  const std::string nearest = closest_name(typed, known);
  const std::string hint = nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
  return fmt::format("{}: unknown '{}'{}; allowed: {}", flag, typed, hint,
                     fmt::join(known.begin(), known.end(), ", "));
}

std::vector<std::string> select_names(std::string_view flag, std::string_view globs,
                                      std::span<const std::string> known) {
  std::vector<bool> is_selected(known.size(), false);
  for (const std::string_view glob : split_list(flag, globs)) {
    bool selects = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!glob_matches(glob, known[i])) continue;
      is_selected[i] = true;
      selects = true;
    }
    if (!selects) throw UsageError(unknown_name_message(flag, glob, known));
  }
  std::vector<std::string> selected;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (is_selected[i]) selected.push_back(known[i]);
  }
  return selected;
}

}  // namespace sparkbench
